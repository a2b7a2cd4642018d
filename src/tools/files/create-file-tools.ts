/**
 * Tools for the files of one folder: read, list, write, delete. What a path may mean is the workspace's to say; here are
 * the words for the model, the limits, and who must agree.
 */
import { Buffer } from "node:buffer";
import { access, constants, rmdir, unlink } from "node:fs/promises";
import { LoomError } from "../../protocol/index.ts";
import { defineTool } from "../define-tool.ts";
import { describeInput } from "../describe-input.ts";
import { dropUndefined } from "../drop-undefined.ts";
import { refineInput } from "../refine-input.ts";
import type { ApprovalPolicy, Tool } from "../tool.ts";
import { toolResult } from "../tool-result.ts";
import { listEntries } from "./list-entries.ts";
import { quotePath, refusePath } from "./parse-path.ts";
import { readText } from "./read-text.ts";
import { missing, type Place, Workspace } from "./workspace.ts";
import { writeFile } from "./write-file.ts";

export interface FileToolOptions {
  /** Leave out the tools that change something. */
  readonly readOnly?: boolean;
  /** Who must agree to writing and deleting; `always` when absent. The path is relative, without `.` and doubled `/`. */
  readonly approval?: ApprovalPolicy<{ readonly path: string }>;
  /** Bytes that one call gives; the rest can be asked for. */
  readonly maxReadBytes?: number;
  /** Bytes that are read to find a line by its number. Code `tool_failed`. */
  readonly maxScanBytes?: number;
  /** Code `tool_failed`. */
  readonly maxWriteBytes?: number;
  /** Names that one listing gives; it says when there are more. */
  readonly maxEntries?: number;
  /** Folders below each other that one listing may show. */
  readonly maxDepth?: number;
  /** Code `tool_timeout`. */
  readonly timeoutMs?: number;
}

const DEFAULTS = {
  maxReadBytes: 64 * 1024,
  maxScanBytes: 64 * 1024 * 1024,
  maxWriteBytes: 1024 * 1024,
  maxEntries: 1000,
  maxDepth: 8,
  timeoutMs: 30_000,
};

/** What is said around the text of a file. */
const NOTE_CHARACTERS = 1024;

type Settings = typeof DEFAULTS & { readonly approval: ApprovalPolicy<{ readonly path: string }> };

/** `read_file`, `list_files`, `write_file` and `delete_file` for what is below `root`. Throws `tool_invalid`. */
export function createFileTools(root: string, options: FileToolOptions = {}): Tool[] {
  const { readOnly = false, ...given } = options;
  const settings: Settings = { ...DEFAULTS, approval: "always", ...dropUndefined(given) };
  // It would mean whatever folder the process happens to be in.
  if (typeof root !== "string" || root.trim() === "")
    throw new LoomError("tool_invalid", "the workspace must be the path of a folder");
  const workspace = new Workspace(root);
  const reading = [defineReadFile(workspace, settings), defineListFiles(workspace, settings)];
  const writing = readOnly ? [] : [defineWriteFile(workspace, settings), defineDeleteFile(workspace, settings)];
  return [...reading, ...writing].map((tool) =>
    refineInput<{ readonly path?: string }>(tool, async (input) =>
      input.path === undefined ? input : { ...input, path: await workspace.normalise(input.path) },
    ),
  );
}

const PATH = { type: "string", description: "Relative to the workspace, e.g. notes/plan.md" } as const;

interface ReadInput {
  readonly path: string;
  readonly from_line?: number;
  readonly lines?: number;
  readonly offset?: number;
}

function defineReadFile(workspace: Workspace, { maxReadBytes, maxScanBytes, timeoutMs }: Settings): Tool {
  return defineTool({
    name: "read_file",
    description: "Reads a text file of the workspace, or a part of it.",
    idempotent: true,
    timeoutMs,
    maxResultCharacters: maxReadBytes + NOTE_CHARACTERS,
    input: describeInput<ReadInput>({
      type: "object",
      properties: {
        path: PATH,
        from_line: { type: "integer", minimum: 1, description: "The first line to read; the first is 1" },
        lines: { type: "integer", minimum: 1, description: "How many lines to read; as many as fit when absent" },
        offset: { type: "integer", minimum: 0, description: "The first byte to read, instead of from_line" },
      },
      required: ["path"],
      additionalProperties: false,
    }),
    execute: async ({ path, from_line: fromLine, lines, offset }, { signal }) =>
      workspace.visit(path, {}, async ({ folder, name, stats }) => {
        if (stats === undefined) throw missing(path);
        if (name === undefined || stats.isDirectory()) throw isFolder(path);
        if (!stats.isFile()) throw refusePath(path, "is no ordinary file");
        const file = await workspace.openFile(folder.at(name), path);
        try {
          const range = { offset, fromLine, lines, maxBytes: maxReadBytes, maxScanBytes, signal };
          const part = await readText(file, range);
          const end = part.nextOffset ?? part.size;
          const note =
            part.nextOffset === undefined
              ? ""
              : `\n[Bytes ${part.offset} to ${end} of ${part.size}. To go on, read from offset ${part.nextOffset}.]`;
          return toolResult({
            text: part.text === "" ? "[Nothing: the file ends here.]" : part.text + note,
            output: { path, size: part.size, offset: part.offset, next_offset: part.nextOffset ?? null },
          });
        } finally {
          await file.close();
        }
      }),
  });
}

function defineListFiles(workspace: Workspace, { maxEntries, maxDepth, timeoutMs }: Settings): Tool {
  return defineTool({
    name: "list_files",
    description: "Lists the files and folders of the workspace, or of a folder in it.",
    idempotent: true,
    timeoutMs,
    input: describeInput<{ readonly path?: string; readonly depth?: number }>({
      type: "object",
      properties: {
        path: { ...PATH, description: "A folder, relative to the workspace; the whole workspace when absent" },
        depth: {
          type: "integer",
          minimum: 1,
          maximum: maxDepth,
          description: "How many folders deep; 1, when absent, is the folder itself",
        },
      },
      additionalProperties: false,
    }),
    execute: async ({ path = ".", depth = 1 }, { signal }) =>
      workspace.visit(path, {}, async ({ folder, name, stats }) => {
        if (stats === undefined) throw missing(path);
        if (!stats.isDirectory()) throw new LoomError("tool_failed", `${quotePath(path)} is no folder.`);
        const limits = { depth, maxEntries, signal };
        const top = name === undefined ? folder : await workspace.openFolder(folder.at(name), path);
        try {
          const { entries, isCut } = await listEntries(workspace, top, limits);
          const lines = entries.map((entry) => showEntry(entry.path, entry.kind, entry.bytes));
          if (isCut) lines.push(`[There is more: only ${maxEntries} names are shown.]`);
          return toolResult({
            text: lines.length === 0 ? "[The folder is empty.]" : lines.join("\n"),
            output: { path, entries, is_cut: isCut },
          });
        } finally {
          if (top !== folder) await top.handle.close();
        }
      }),
  });
}

function showEntry(path: string, kind: string, bytes: number): string {
  // A name may have a line break in it, and must not look like two.
  // oxlint-disable-next-line no-control-regex -- these are what is looked for
  const shown = /[\u0000-\u001f\u007f]/.test(path) ? JSON.stringify(path) : path;
  switch (kind) {
    case "folder":
      return `${shown}/`;
    case "file":
      return `${shown} (${bytes} bytes)`;
    default:
      return `${shown} (${kind})`;
  }
}

function defineWriteFile(workspace: Workspace, { maxWriteBytes, timeoutMs, approval }: Settings): Tool {
  return defineTool({
    name: "write_file",
    description: "Writes a text file in the workspace. What was in the file is replaced; folders are made as needed.",
    approval,
    // Not to be run twice: somebody may have changed the file since.
    timeoutMs,
    input: describeInput<{ readonly path: string; readonly content: string }>({
      type: "object",
      properties: { path: PATH, content: { type: "string", description: "The whole text of the file" } },
      required: ["path", "content"],
      additionalProperties: false,
    }),
    execute: async ({ path, content }, { signal }) => {
      const bytes = Buffer.byteLength(content);
      if (bytes > maxWriteBytes)
        throw new LoomError("tool_failed", `The text has ${bytes} bytes; a file may have ${maxWriteBytes}.`);
      return workspace.visit(path, { makeFolders: true }, async (place) => {
        const name = await checkTarget(path, place);
        const before = place.stats?.size;
        const mode = place.stats === undefined ? 0o666 : place.stats.mode & 0o777;
        await writeFile(place.folder, name, content, { mode, signal });
        const what = before === undefined ? "Created" : "Replaced";
        return toolResult({
          text: `${what} ${quotePath(path)}: ${bytes} bytes${before === undefined ? "" : `, before it had ${before}`}.`,
          output: { path, bytes, created: before === undefined, bytes_before: before ?? null },
        });
      });
    },
  });
}

async function checkTarget(path: string, { folder, name, stats, isLinked }: Place): Promise<string> {
  if (name === undefined || stats?.isDirectory() === true) throw isFolder(path);
  if (stats === undefined && isLinked) throw refusePath(path, "is a link that leads nowhere");
  if (stats === undefined) return name;
  if (!stats.isFile()) throw refusePath(path, "is no ordinary file");
  // It is replaced and not written into, which the system would allow all the same.
  if ((stats.mode & 0o222) === 0) throw new LoomError("tool_failed", `${quotePath(path)} is read-only.`);
  await access(folder.at(name), constants.W_OK);
  return name;
}

function defineDeleteFile(workspace: Workspace, { timeoutMs, approval }: Settings): Tool {
  return defineTool({
    name: "delete_file",
    description: "Deletes a file of the workspace, or an empty folder. It cannot be undone.",
    approval,
    timeoutMs,
    input: describeInput<{ readonly path: string }>({
      type: "object",
      properties: { path: PATH },
      required: ["path"],
      additionalProperties: false,
    }),
    execute: async ({ path }, { signal }) =>
      workspace.visit(path, { keepLink: true }, async ({ folder, name, stats }) => {
        if (name === undefined) throw refusePath(path, "is the workspace itself");
        if (stats === undefined) throw missing(path);
        const isFolder = stats.isDirectory();
        // Of a link, the link itself is deleted and not what it leads to.
        const isLink = stats.isSymbolicLink();
        if (!isFolder && !isLink && !stats.isFile()) throw refusePath(path, "is no ordinary file");
        signal.throwIfAborted();
        await (isFolder ? rmdir(folder.at(name)) : unlink(folder.at(name)));
        const kind = isFolder ? "empty folder" : isLink ? "link" : "file";
        return toolResult({ text: `Deleted the ${kind} ${quotePath(path)}.`, output: { path, kind } });
      }),
  });
}

function isFolder(path: string): LoomError {
  return new LoomError("tool_failed", `${quotePath(path)} is a folder.`);
}
