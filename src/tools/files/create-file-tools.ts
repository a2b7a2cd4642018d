/**
 * The file tools: read, list, search, write and delete files of one folder. This module defines arguments, limits, approval and
 * messages; `Workspace` keeps paths inside the folder.
 */
import { Buffer } from "node:buffer";
import { access, constants, rmdir, unlink } from "node:fs/promises";
import { LoomError } from "../../protocol/index.ts";
import { defineTool, refineInput } from "../define-tool.ts";
import { describeInput } from "../describe-input.ts";
import {
  acceptInteger,
  acceptNumber,
  ANY_OPTION,
  BOOLEAN_OPTION,
  type OptionsOf,
  type OptionTable,
  readOptions,
  withDefault,
} from "../../protocol/read-options.ts";
import type { ApprovalPolicy, Tool } from "../tool.ts";
import { nameSubject } from "../summarize-tool.ts";
import { toolResult } from "../tool-result.ts";
import { diffLines } from "./diff-lines.ts";
import { listEntries } from "./list-entries.ts";
import { quotePath, refusePath } from "./parse-path.ts";
import { readText } from "./read-text.ts";
import { searchFiles } from "./search-files.ts";
import { pathNotFound, type WorkspaceLocation, Workspace } from "./workspace.ts";
import { writeFile } from "./write-file.ts";

/** Options of `createFileTools`. */
export interface FileToolOptions {
  /** Leaves out `write_file` and `delete_file`. Default: false. */
  readonly readOnly?: boolean;
  /** When the user must approve a write or deletion. The path is relative and normalized. Default: `always`. */
  readonly approval?: ApprovalPolicy<{ readonly path: string }>;
  /** Maximum bytes returned by one `read_file` call; the model can request the rest. Default: 65,536. */
  readonly maxReadBytes?: number;
  /** Maximum bytes scanned to find a line by its number. Default: 67,108,864. Code `tool_failed`. */
  readonly maxScanBytes?: number;
  /** Maximum bytes written by one `write_file` call. Default: 1,048,576. Code `tool_failed`. */
  readonly maxWriteBytes?: number;
  /** Maximum entries returned by one `list_files` call; the result says if there are more. Default: 1,000. */
  readonly maxEntries?: number;
  /** Maximum matches returned by one `search_files` call; the result says if there are more. Default: 200. */
  readonly maxMatches?: number;
  /** Maximum bytes of a file that `search_files` reads; larger files are left out. Default: 1,048,576. */
  readonly maxSearchedBytes?: number;
  /** Maximum folder depth of one listing or search. Default: 8. */
  readonly maxDepth?: number;
  /** Time limit of a call, in milliseconds. Default: 30,000. Code `tool_timeout`. */
  readonly timeoutMs?: number;
}

/** `defineTool` checks `approval`. */
const FILE_OPTIONS = {
  readOnly: withDefault(BOOLEAN_OPTION, false),
  approval: withDefault<NonNullable<FileToolOptions["approval"]>>(ANY_OPTION, "always"),
  maxReadBytes: withDefault(acceptNumber(0), 64 * 1024),
  maxScanBytes: withDefault(acceptNumber(0), 64 * 1024 * 1024),
  maxWriteBytes: withDefault(acceptNumber(0), 1024 * 1024),
  maxEntries: withDefault(acceptNumber(0), 1000),
  maxMatches: withDefault(acceptNumber(0), 200),
  maxSearchedBytes: withDefault(acceptNumber(0), 1024 * 1024),
  maxDepth: withDefault(acceptNumber(0), 8),
  timeoutMs: withDefault(acceptInteger(1), 30_000),
} as const satisfies OptionTable<FileToolOptions>;

/** Files and folders that one search looks at. */
const MAX_SEARCHED_ENTRIES = 10_000;

/** Characters reserved for the note after the text of a file. */
const NOTE_CHARACTERS = 1024;

type FileToolSettings = OptionsOf<typeof FILE_OPTIONS>;

/**
 * Creates the tools `read_file`, `list_files`, `search_files`, `write_file` and `delete_file` for the files below `root`. Paths and
 * links that lead out of `root` are rejected with `path_refused`.
 *
 * Throws `tool_invalid` if `root` is empty, and `invalid_arguments` for a wrong option.
 *
 * ```ts
 * await using helper = agent({ provider: "offline", tools: createFileTools("./notes", { readOnly: true }) });
 * ```
 */
export function createFileTools(root: string, options: FileToolOptions = {}): Tool[] {
  const settings = readOptions(FILE_OPTIONS, options);
  // An empty path would mean the current directory of the process.
  if (typeof root !== "string" || root.trim() === "")
    throw new LoomError("tool_invalid", "The workspace must be the path of a folder");
  const workspace = new Workspace(root);
  const reading = [defineReadFile, defineListFiles, defineSearchFiles].map((define) => define(workspace, settings));
  const writing = settings.readOnly
    ? []
    : [defineWriteFile(workspace, settings), defineDeleteFile(workspace, settings)];
  return [...reading, ...writing].map((tool) =>
    refineInput<{ readonly path?: string }>(tool, async (input) =>
      input.path === undefined ? input : { ...input, path: await workspace.normalize(input.path) },
    ),
  );
}

const PATH = { type: "string", description: "Path relative to the workspace, such as notes/plan.md" } as const;

interface ReadInput {
  readonly path: string;
  readonly from_line?: number;
  readonly lines?: number;
  readonly offset?: number;
}

function defineReadFile(workspace: Workspace, { maxReadBytes, maxScanBytes, timeoutMs }: FileToolSettings): Tool {
  return defineTool({
    name: "read_file",
    title: { en: "Read a file", zh: "读取文件" },
    summarize: ({ path }) => nameSubject({ en: "Read a file", zh: "读取文件" }, path),
    description: "Reads a text file in the workspace, or a part of it.",
    idempotent: true,
    timeoutMs,
    maxResultCharacters: maxReadBytes + NOTE_CHARACTERS,
    input: describeInput<ReadInput>({
      type: "object",
      properties: {
        path: PATH,
        from_line: { type: "integer", minimum: 1, description: "First line to read, counted from 1" },
        lines: { type: "integer", minimum: 1, description: "Number of lines to read. Default: as many as fit" },
        offset: { type: "integer", minimum: 0, description: "First byte to read, as an alternative to from_line" },
      },
      required: ["path"],
      additionalProperties: false,
    }),
    execute: async ({ path, from_line: fromLine, lines, offset }, { signal }) =>
      workspace.withLocation(path, {}, async ({ folder, name, stats }) => {
        if (stats === undefined) throw pathNotFound(path);
        if (name === undefined || stats.isDirectory()) throw isFolder(path);
        if (!stats.isFile()) throw refusePath(path, "is not a regular file");
        const file = await workspace.openFile(folder.at(name), path);
        try {
          const range = { offset, fromLine, lines, maxBytes: maxReadBytes, maxScanBytes, signal };
          const part = await readText(file, range);
          const end = part.nextOffset ?? part.size;
          const note =
            part.nextOffset === undefined
              ? ""
              : `\n[Bytes ${part.offset} to ${end} of ${part.size}. To continue, read from offset ${part.nextOffset}.]`;
          return toolResult({
            text: part.text === "" ? "[No text: this is the end of the file.]" : part.text + note,
            output: { path, size: part.size, offset: part.offset, next_offset: part.nextOffset ?? null },
            summary: nameSubject({ en: "Read a file", zh: "已读取文件" }, path),
          });
        } finally {
          await file.close();
        }
      }),
  });
}

function defineListFiles(workspace: Workspace, { maxEntries, maxDepth, timeoutMs }: FileToolSettings): Tool {
  return defineTool({
    name: "list_files",
    title: { en: "List files", zh: "列出文件" },
    summarize: ({ path }) => nameSubject({ en: "List files", zh: "列出文件" }, path),
    description: "Lists the files and folders in the workspace, or in one of its folders.",
    idempotent: true,
    timeoutMs,
    input: describeInput<{ readonly path?: string; readonly depth?: number }>({
      type: "object",
      properties: {
        path: { ...PATH, description: "Folder, relative to the workspace. Default: the workspace itself" },
        depth: {
          type: "integer",
          minimum: 1,
          maximum: maxDepth,
          description: "How many levels of folders to list. Default: 1, only the folder itself",
        },
      },
      additionalProperties: false,
    }),
    execute: async ({ path = ".", depth = 1 }, { signal }) =>
      workspace.withLocation(path, {}, async ({ folder, name, stats }) => {
        if (stats === undefined) throw pathNotFound(path);
        if (!stats.isDirectory()) throw new LoomError("tool_failed", `${quotePath(path)} is not a folder`);
        const limits = { depth, maxEntries, signal };
        const top = name === undefined ? folder : await workspace.openFolder(folder.at(name), path);
        try {
          const { entries, isCut } = await listEntries(workspace, top, limits);
          const lines = entries.map((entry) => showEntry(entry.path, entry.kind, entry.bytes));
          if (isCut) lines.push(`[Truncated: only ${maxEntries} entries are shown.]`);
          return toolResult({
            text: lines.length === 0 ? "[The folder is empty.]" : lines.join("\n"),
            output: { path, entries, is_cut: isCut },
            summary: nameSubject(
              { en: `Listed ${count(entries.length, "file")}`, zh: `已列出 ${entries.length} 个文件` },
              path === "." ? undefined : path,
            ),
          });
        } finally {
          if (top !== folder) await top.handle.close();
        }
      }),
  });
}

function defineSearchFiles(
  workspace: Workspace,
  { maxDepth: depth, maxMatches, maxSearchedBytes: maxFileBytes, timeoutMs }: FileToolSettings,
): Tool {
  return defineTool({
    name: "search_files",
    title: { en: "Search files", zh: "搜索文件" },
    summarize: ({ query }) => nameSubject({ en: "Search files", zh: "搜索文件" }, query),
    description:
      "Finds the lines that contain a text in the text files of the workspace, or of one of its folders. Upper and lower case are the same.",
    idempotent: true,
    timeoutMs,
    input: describeInput<{ readonly query: string; readonly path?: string }>({
      type: "object",
      properties: {
        query: { type: "string", minLength: 1, maxLength: 1000, description: "Text to find, within one line" },
        path: { ...PATH, description: "Folder, relative to the workspace. Default: the workspace itself" },
      },
      required: ["query"],
      additionalProperties: false,
    }),
    execute: async ({ query, path = "." }, { signal, print, ready, show }) =>
      workspace.withLocation(path, {}, async ({ folder, name, stats }) => {
        if (stats === undefined) throw pathNotFound(path);
        if (!stats.isDirectory()) throw new LoomError("tool_failed", `${quotePath(path)} is not a folder`);
        const top = name === undefined ? folder : await workspace.openFolder(folder.at(name), path);
        try {
          const prefix = path === "." ? "" : `${path}/`;
          const limits = { depth, maxEntries: MAX_SEARCHED_ENTRIES, maxMatches, maxFileBytes, signal };
          const lines: string[] = [];
          const { files, matches, isCut } = await searchFiles(
            workspace,
            { top, prefix },
            query,
            limits,
            async (match) => {
              const line = `${match.path}:${match.line}: ${match.text}`;
              lines.push(line);
              print(`${line}\n`);
              await ready();
            },
          );
          const summary = { query, files, matches: matches.length, is_cut: isCut };
          show({ type: "custom", value: { search_files: summary } });
          if (isCut) lines.push("[Truncated: some files or matches are left out.]");
          return toolResult({
            text: matches.length === 0 ? `[No match in ${files} files.]` : lines.join("\n"),
            output: { ...summary, path, matches },
            summary: nameSubject(
              { en: `Found ${count(matches.length, "matching line")}`, zh: `找到 ${matches.length} 个匹配行` },
              query,
            ),
          });
        } finally {
          if (top !== folder) await top.handle.close();
        }
      }),
  });
}

function showEntry(path: string, kind: string, bytes: number): string {
  // A name with a line break must not look like two names.
  // oxlint-disable-next-line no-control-regex -- matches control characters on purpose
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

function defineWriteFile(workspace: Workspace, { maxWriteBytes, timeoutMs, approval }: FileToolSettings): Tool {
  return defineTool({
    name: "write_file",
    title: { en: "Write a file", zh: "写入文件" },
    summarize: ({ path }) => nameSubject({ en: "Write a file", zh: "写入文件" }, path),
    description: "Writes a text file in the workspace. Replaces an existing file, and creates missing folders.",
    approval,
    // Not idempotent: the file may have changed since.
    timeoutMs,
    preview: async ({ path, content }, signal) =>
      workspace.withLocation(path, {}, async ({ folder, name, stats }) => {
        if (name === undefined || stats?.isFile() !== true || stats.size > maxWriteBytes) return undefined;
        const file = await workspace.openFile(folder.at(name), path);
        try {
          const { text } = await readText(file, { maxBytes: maxWriteBytes, maxScanBytes: 0, signal });
          return diffLines(text, content);
        } finally {
          await file.close();
        }
      }),
    input: describeInput<{ readonly path: string; readonly content: string }>({
      type: "object",
      properties: { path: PATH, content: { type: "string", description: "Complete text of the file" } },
      required: ["path", "content"],
      additionalProperties: false,
    }),
    execute: async ({ path, content }, { signal }) => {
      const bytes = Buffer.byteLength(content);
      if (bytes > maxWriteBytes)
        throw new LoomError("tool_failed", `The text has ${bytes} bytes; at most ${maxWriteBytes} are allowed`);
      return workspace.withLocation(path, { createFolders: true }, async (location) => {
        const name = await checkTarget(path, location);
        const before = location.stats?.size;
        const mode = location.stats === undefined ? 0o666 : location.stats.mode & 0o777;
        await writeFile(location.folder, name, content, { mode, signal });
        const what = before === undefined ? "Created" : "Replaced";
        return toolResult({
          text: `${what} ${quotePath(path)}: ${bytes} bytes${before === undefined ? "" : `, previously ${before}`}.`,
          output: { path, bytes, created: before === undefined, bytes_before: before ?? null },
          summary: nameSubject(
            before === undefined
              ? { en: "Created a file", zh: "已创建文件" }
              : { en: "Replaced a file", zh: "已替换文件" },
            path,
          ),
        });
      });
    },
  });
}

async function checkTarget(path: string, { folder, name, stats, isLinked }: WorkspaceLocation): Promise<string> {
  if (name === undefined || stats?.isDirectory() === true) throw isFolder(path);
  if (stats === undefined && isLinked) throw refusePath(path, "is a link to a file that does not exist");
  if (stats === undefined) return name;
  if (!stats.isFile()) throw refusePath(path, "is not a regular file");
  // The file is replaced by a rename, which works even if it is read-only.
  if ((stats.mode & 0o222) === 0) throw new LoomError("tool_failed", `${quotePath(path)} is read-only`);
  await access(folder.at(name), constants.W_OK);
  return name;
}

function defineDeleteFile(workspace: Workspace, { timeoutMs, approval }: FileToolSettings): Tool {
  return defineTool({
    name: "delete_file",
    title: { en: "Delete a file", zh: "删除文件" },
    summarize: ({ path }) => nameSubject({ en: "Delete a file", zh: "删除文件" }, path),
    description: "Deletes a file or an empty folder in the workspace. This cannot be undone.",
    approval,
    timeoutMs,
    input: describeInput<{ readonly path: string }>({
      type: "object",
      properties: { path: PATH },
      required: ["path"],
      additionalProperties: false,
    }),
    execute: async ({ path }, { signal }) =>
      workspace.withLocation(path, { keepLink: true }, async ({ folder, name, stats }) => {
        if (name === undefined) throw refusePath(path, "is the workspace itself");
        if (stats === undefined) throw pathNotFound(path);
        const isFolder = stats.isDirectory();
        // Deletes a link itself, not its target.
        const isLink = stats.isSymbolicLink();
        if (!isFolder && !isLink && !stats.isFile()) throw refusePath(path, "is not a regular file");
        signal.throwIfAborted();
        await (isFolder ? rmdir(folder.at(name)) : unlink(folder.at(name)));
        const kind = isFolder ? "empty folder" : isLink ? "link" : "file";
        return toolResult({
          text: `Deleted the ${kind} ${quotePath(path)}.`,
          output: { path, kind },
          summary: nameSubject(DELETED[isFolder ? "folder" : isLink ? "link" : "file"], path),
        });
      }),
  });
}

const DELETED = {
  folder: { en: "Deleted a folder", zh: "已删除文件夹" },
  link: { en: "Deleted a link", zh: "已删除链接" },
  file: { en: "Deleted a file", zh: "已删除文件" },
} as const;

function count(number: number, noun: string): string {
  return number === 1 ? `1 ${noun}` : `${number} ${noun}s`;
}

function isFolder(path: string): LoomError {
  return new LoomError("tool_failed", `${quotePath(path)} is a folder`);
}
