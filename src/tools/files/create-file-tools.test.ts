import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type JsonObject, LoomError } from "../../protocol/index.ts";
import type { ToolContext, ToolCallResult } from "../tool.ts";
import { createFileTools, type FileToolOptions } from "./create-file-tools.ts";
import { Workspace } from "./workspace.ts";

const context: ToolContext = {
  callId: "c1",
  sessionId: "s",
  runId: "r",
  signal: new AbortController().signal,
  print: () => undefined,
  report: () => undefined,
  show: () => undefined,
  ready: async () => undefined,
};

let base: string;
let root: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "loom-files-"));
  root = join(base, "desk");
  mkdirSync(root);
  mkdirSync(join(base, "outside"));
  writeFileSync(join(base, "outside", "secret.txt"), "SECRET");
  // A sibling folder whose name starts like the workspace's.
  mkdirSync(`${root}-two`);
  writeFileSync(join(`${root}-two`, "secret.txt"), "SECRET");
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

async function call(name: string, input: JsonObject, options?: FileToolOptions, signal = context.signal) {
  const tool = createFileTools(root, options).find((each) => each.name === name);
  if (tool === undefined) throw new Error(`no ${name}`);
  const checked = await tool.validate(input);
  if (!checked.ok) throw new Error(checked.message);
  return tool.execute(checked.value, { ...context, signal });
}

function codeOf(error: unknown): string {
  return error instanceof LoomError ? error.code : String(error);
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** Returns the error code, and checks that the message contains no path of this machine. */
async function refusal(work: Promise<ToolCallResult>): Promise<string> {
  const error = await work.then(
    (result) => new Error(`not rejected: ${result.text}`),
    (error: unknown) => error,
  );
  if (!(error instanceof LoomError)) throw error;
  expect(error.message).not.toContain("/proc/");
  expect(error.message).not.toContain(base);
  return error.code;
}

describe("the file tools", () => {
  it("ask for approval only before changes", async () => {
    const tools = createFileTools(root);
    const asks = await Promise.all(tools.map(async (tool) => [tool.name, await tool.needsApproval({ path: "a" })]));
    expect(asks).toEqual([
      ["read_file", false],
      ["list_files", false],
      ["search_files", false],
      ["write_file", true],
      ["delete_file", true],
    ]);
    expect(createFileTools(root, { readOnly: true }).map(({ name }) => name)).toEqual([
      "read_file",
      "list_files",
      "search_files",
    ]);
  });

  it("write, list, read and delete, and report what they did", async () => {
    const created = await call("write_file", { path: "notes/plan.md", content: "一\ntwo\n" });
    expect(created.output).toEqual({ path: "notes/plan.md", bytes: 8, created: true, bytes_before: null });
    const replaced = await call("write_file", { path: "notes/plan.md", content: "x" });
    expect(replaced.text).toBe('Replaced "notes/plan.md": 1 bytes, previously 8.');
    expect((await call("read_file", { path: "./notes//plan.md" })).text).toBe("x");
    expect((await call("list_files", { depth: 2 })).text).toBe("notes/\nnotes/plan.md (1 bytes)");
    expect((await call("list_files", { path: "notes" })).text).toBe("plan.md (1 bytes)");
    expect(await refusal(call("delete_file", { path: "notes" }))).toBe("tool_failed");
    expect((await call("delete_file", { path: "notes/plan.md" })).text).toBe('Deleted the file "notes/plan.md".');
    expect((await call("delete_file", { path: "notes" })).text).toBe('Deleted the empty folder "notes".');
    expect(readdirSync(root)).toEqual([]);
  });

  it("accept an absolute path inside the workspace", async () => {
    writeFileSync(join(root, "a.txt"), "A");
    expect((await call("read_file", { path: join(root, "a.txt") })).text).toBe("A");
    expect((await call("list_files", { path: root })).text).toBe("a.txt (1 bytes)");
  });

  it("keep the mode of a file, and clean up after a failed write", async () => {
    writeFileSync(join(root, "run.sh"), "#!/bin/sh");
    chmodSync(join(root, "run.sh"), 0o755);
    await call("write_file", { path: "run.sh", content: "#!/bin/sh\n" });
    expect(lstatSync(join(root, "run.sh")).mode & 0o777).toBe(0o755);
    const aborted = AbortSignal.abort(new Error("stop"));
    await expect(call("write_file", { path: "run.sh", content: "half" }, {}, aborted)).rejects.toThrow("stop");
    expect(readFileSync(join(root, "run.sh"), "utf8")).toBe("#!/bin/sh\n");
    expect(readdirSync(root)).toEqual(["run.sh"]);
  });

  it("replace a hard link, not the shared file", async () => {
    linkSync(join(base, "outside", "secret.txt"), join(root, "shared.txt"));
    await call("write_file", { path: "shared.txt", content: "mine" });
    expect(readFileSync(join(base, "outside", "secret.txt"), "utf8")).toBe("SECRET");
  });
});

describe("reading a part of a file", () => {
  beforeEach(() =>
    writeFileSync(join(root, "lines.txt"), Array.from({ length: 1000 }, (_, n) => `line ${n + 1}\n`).join("")),
  );

  it("works by lines and bytes, and says how to continue", async () => {
    const part = await call("read_file", { path: "lines.txt", from_line: 999, lines: 1 });
    expect(part.text).toMatch(/^line 999\n\n\[Bytes \d+ to \d+ of 8893\. To continue, read from offset (\d+)\.\]$/);
    const { next_offset: next } = part.output as { next_offset: number };
    expect((await call("read_file", { path: "lines.txt", offset: next })).text).toBe("line 1000\n");
    expect(await refusal(call("read_file", { path: "lines.txt", from_line: 1002 }))).toBe("tool_failed");
    expect(await refusal(call("read_file", { path: "lines.txt", from_line: 900 }, { maxScanBytes: 100 }))).toBe(
      "tool_failed",
    );
  });

  it("returns every character once, for any text and limit", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: "grapheme", maxLength: 60 }),
        fc.integer({ min: 4, max: 30 }),
        async (text, max) => {
          const clean = text
            .replaceAll("\0", "")
            .replace(/^\uFEFF/, "")
            .toWellFormed();
          writeFileSync(join(root, "any.txt"), clean);
          let read = "";
          for (let offset: number | null = 0, step = 0; offset !== null && step < 1000; step += 1) {
            const part = await call("read_file", { path: "any.txt", offset }, { maxReadBytes: max });
            const { next_offset: next } = part.output as { next_offset: number | null };
            const note = next === null ? part.text.length : part.text.lastIndexOf("\n[Bytes ");
            if (part.text !== "[No text: this is the end of the file.]") read += part.text.slice(0, note);
            offset = next;
          }
          expect(read).toBe(clean);
        },
      ),
      { numRuns: 60 },
    );
  });

  it("rejects a file that is not text", async () => {
    writeFileSync(join(root, "image.png"), Buffer.from([0x89, 0x50, 0, 1, 2]));
    expect(await refusal(call("read_file", { path: "image.png" }))).toBe("tool_failed");
  });
});

describe("limits", () => {
  it("apply to writing and listing", async () => {
    expect(await refusal(call("write_file", { path: "a", content: "ééé" }, { maxWriteBytes: 5 }))).toBe("tool_failed");
    for (let n = 0; n < 30; n += 1) writeFileSync(join(root, `f${n}`), "");
    const listed = await call("list_files", {}, { maxEntries: 10 });
    expect(listed.text.split("\n")).toHaveLength(11);
    expect(listed.output).toMatchObject({ is_cut: true });
    await expect(call("list_files", { depth: 9 })).rejects.toThrow(/depth/);
  });

  it("quotes a name with a line break", async () => {
    writeFileSync(join(root, "a\nb"), "");
    expect((await call("list_files", {})).text).toBe(String.raw`"a\nb" (0 bytes)`);
  });
});

describe.each([true, false])("paths out of the workspace, with /proc: %s", (byHandle) => {
  const visit = async (path: string, options = {}): Promise<string> =>
    new Workspace(root, byHandle).withLocation(path, options, async ({ folder, name, stats }) => {
      if (name === undefined || stats?.isDirectory() === true) return "folder";
      const file = await new Workspace(root, byHandle).openFile(folder.at(name), path);
      try {
        return await file.readFile("utf8");
      } finally {
        await file.close();
      }
    });

  it("are rejected, while links inside are followed", async () => {
    mkdirSync(join(root, "deep", "er"), { recursive: true });
    writeFileSync(join(root, "deep", "er", "in.txt"), "IN");
    const links: [name: string, target: string, expected: string][] = [
      ["l-in", "deep/er/in.txt", "IN"],
      ["l-in-folder", "deep/er", "folder"],
      ["l-absolute", join(root, "deep/er/in.txt"), "IN"],
      ["l-up-and-down", "deep/er/../er/in.txt", "IN"],
      ["l-root", ".", "folder"],
      ["l-out", "../outside/secret.txt", "path_refused"],
      ["l-out-absolute", join(base, "outside/secret.txt"), "path_refused"],
      ["l-out-folder", "../outside", "path_refused"],
      ["l-neighbour", `${root}-two/secret.txt`, "path_refused"],
      ["l-out-and-in", "../desk/deep/er/in.txt", "path_refused"],
      ["l-loop", "l-loop", "path_refused"],
      ["l-dangling", "nowhere.txt", "tool_failed"],
    ];
    for (const [name, target, expected] of links) {
      symlinkSync(target, join(root, name));
      const got = await visit(name).catch(codeOf);
      expect([name, got]).toEqual([name, expected]);
    }
    expect(await visit("l-in-folder/in.txt")).toBe("IN");
    await expect(visit("l-out-folder/secret.txt")).rejects.toMatchObject({ code: "path_refused" });
    await expect(visit("l-root/l-out")).rejects.toMatchObject({ code: "path_refused" });
  });
});

describe("hostile paths", () => {
  it("never reach a file outside", async () => {
    symlinkSync("../outside", join(root, "out"));
    symlinkSync("/", join(root, "slash"));
    symlinkSync("../outside/made.txt", join(root, "dangling"));
    mkdirSync(join(root, "sub"));
    const piece = fc.constantFrom(
      ..."..|.|out|slash|dangling|sub|secret.txt|outside|work|desk-two|etc|passwd|made.txt|%2e%2e|..%2f|\u0000|\\|..\\|~|//|C:|\u2025|．．".split(
        "|",
      ),
      base.slice(1),
      root.slice(1),
      "x".repeat(300),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { minLength: 1, maxLength: 8 }), fc.boolean(), async (pieces, isAbsolute) => {
        const path = (isAbsolute ? "/" : "") + pieces.join("/");
        const read = await call("read_file", { path }).catch(asError);
        if (!(read instanceof Error)) expect(read.text).not.toMatch(/SECRET|root:/);
        await call("write_file", { path, content: "OWNED" }).catch(() => undefined);
        await call("delete_file", { path: `${path}/secret.txt` }).catch(() => undefined);
      }),
      { numRuns: 300 },
    );
    expect(readFileSync(join(base, "outside", "secret.txt"), "utf8")).toBe("SECRET");
    expect(readFileSync(join(`${root}-two`, "secret.txt"), "utf8")).toBe("SECRET");
    expect(readdirSync(join(base, "outside"))).toEqual(["secret.txt"]);
    expect(readdirSync(base).toSorted()).toEqual(["desk", "desk-two", "outside"]);
  });

  it.each([
    ["..", "path_refused"],
    ["../outside/secret.txt", "path_refused"],
    ["a/../../outside/secret.txt", "path_refused"],
    ["/etc/passwd", "path_refused"],
    ["a\0b", "path_refused"],
    ["a\nb", "path_refused"],
    [String.raw`..\outside`, "path_refused"],
    ["\ud800", "path_refused"],
    ["x".repeat(256), "path_refused"],
    ["字".repeat(86), "path_refused"],
    ["a/".repeat(100), "path_refused"],
    ["a/b/".repeat(2000), "path_refused"],
    ["", "tool_failed"],
  ])("%j is rejected by its text", async (path, code) => {
    expect(await refusal(call("read_file", { path }))).toBe(code);
    expect(await refusal(call("write_file", { path, content: "" }))).toBe(code);
  });

  it("do not write through a link that leads out or to a missing file", async () => {
    symlinkSync("../outside/new.txt", join(root, "out"));
    symlinkSync("nowhere/new.txt", join(root, "in"));
    symlinkSync("new.txt", join(root, "here"));
    for (const path of ["out", "in", "here"])
      expect(await refusal(call("write_file", { path, content: "x" }))).toBe("path_refused");
    expect(existsSync(join(base, "outside", "new.txt"))).toBe(false);
    // Deleting a link deletes only the link.
    symlinkSync("../outside/secret.txt", join(root, "gone"));
    expect((await call("delete_file", { path: "gone" })).output).toEqual({ path: "gone", kind: "link" });
    expect(existsSync(join(base, "outside", "secret.txt"))).toBe(true);
  });

  it.skipIf(process.platform === "win32")("rejects devices and pipes without blocking", async () => {
    execFileSync("sh", ["-c", `mkfifo "$0"`, join(root, "pipe")]);
    symlinkSync("/dev/zero", join(root, "zero"));
    for (const path of ["pipe", "zero"]) {
      expect(await refusal(call("read_file", { path }))).toBe("path_refused");
      expect(await refusal(call("write_file", { path, content: "x" }))).toBe("path_refused");
    }
    expect(await refusal(call("delete_file", { path: "pipe" }))).toBe("path_refused");
    // Also if a pipe replaces the file after the check.
    await expect(new Workspace(root).openFile(join(root, "pipe"), "pipe")).rejects.toMatchObject({
      code: "path_refused",
    });
  });
});

describe("a link that replaces a name during a call", () => {
  /** Changes the file system right after a name was checked. */
  async function walkWhile(path: string, swap: () => void, use: "read" | "write"): Promise<string> {
    const workspace = new Workspace(root);
    return workspace
      .withLocation(path, { createFolders: use === "write" }, async ({ folder, name = "" }) => {
        swap();
        if (use === "write") {
          const { writeFile } = await import("./write-file.ts");
          await writeFile(folder, name, "OWNED", { mode: 0o644 });
          return "written";
        }
        const file = await workspace.openFile(folder.at(name), path);
        try {
          return await file.readFile("utf8");
        } finally {
          await file.close();
        }
      })
      .catch(codeOf);
  }

  beforeEach(() => {
    mkdirSync(join(root, "sub"));
    writeFileSync(join(root, "sub", "secret.txt"), "inside");
  });

  it("is not followed in place of the file", async () => {
    const swap = (): void => {
      rmSync(join(root, "sub", "secret.txt"));
      symlinkSync(join(base, "outside", "secret.txt"), join(root, "sub", "secret.txt"));
    };
    expect(await walkWhile("sub/secret.txt", swap, "read")).toBe("path_refused");
  });

  it("is not followed in place of the folder: the open folder is used", async () => {
    const swap = (): void => {
      renameSync(join(root, "sub"), join(root, "moved"));
      symlinkSync(join(base, "outside"), join(root, "sub"));
    };
    expect(await walkWhile("sub/secret.txt", swap, "read")).toBe("inside");
    rmSync(join(root, "sub"));
    renameSync(join(root, "moved"), join(root, "sub"));
    expect(await walkWhile("sub/secret.txt", swap, "write")).toBe("written");
    expect(readFileSync(join(base, "outside", "secret.txt"), "utf8")).toBe("SECRET");
    expect(readFileSync(join(root, "moved", "secret.txt"), "utf8")).toBe("OWNED");
  });

  it("is replaced, not followed, as the target of a write", async () => {
    const swap = (): void => {
      rmSync(join(root, "sub", "secret.txt"));
      symlinkSync(join(base, "outside", "secret.txt"), join(root, "sub", "secret.txt"));
    };
    expect(await walkWhile("sub/secret.txt", swap, "write")).toBe("written");
    expect(readFileSync(join(base, "outside", "secret.txt"), "utf8")).toBe("SECRET");
  });

  it("never exposes a file outside, even if swapped continuously by another process", async () => {
    const { spawn } = await import("node:child_process");
    const script = `const fs = require("fs"); process.chdir(${JSON.stringify(root)});
      fs.symlinkSync(${JSON.stringify(join(base, "outside"))}, "link");
      for (;;) { fs.renameSync("sub", "keep"); fs.renameSync("link", "sub"); fs.renameSync("sub", "link"); fs.renameSync("keep", "sub"); }`;
    const child = spawn(process.execPath, ["-e", script], { stdio: "ignore" });
    try {
      const deadline = performance.now() + 700;
      const seen = new Set<string>();
      while (performance.now() < deadline) {
        const read = await call("read_file", { path: "sub/secret.txt" }).catch(asError);
        seen.add(read instanceof Error ? codeOf(read) : read.text);
        await call("write_file", { path: "sub/secret.txt", content: "inside" }).catch(() => undefined);
      }
      expect([...seen]).toContain("inside");
      expect([...seen]).not.toContain("SECRET");
      expect(readFileSync(join(base, "outside", "secret.txt"), "utf8")).toBe("SECRET");
      expect(readdirSync(join(base, "outside"))).toEqual(["secret.txt"]);
    } finally {
      child.kill("SIGKILL");
    }
  });
});
