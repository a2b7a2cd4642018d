// Paths that lead out of the workspace, in many spellings, passed to each file tool, with a user who approves every
// call. Files outside are not read, listed or changed.
import { spawn } from "node:child_process";
import {
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect } from "vitest";
import type { JsonObject } from "../../src/protocol/index.ts";
import { createFileTools } from "../../src/tools/index.ts";
import { createToolbox } from "../../src/tools/toolbox.ts";
import { runToolCall } from "../../src/tools/run-tool-call.ts";
import type { ToolOutcome } from "../../src/tools/tool.ts";
import { callOf, createToolRecorder } from "../tool-recorder.ts";
import { testThreat } from "./test-threat.ts";

const SECRET = "CANARY-OUTSIDE";
const TOOLS = ["read_file", "list_files", "write_file", "delete_file"] as const;

let base: string;
let root: string;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "loom-paths-"));
  root = join(base, "workspace");
  for (const folder of [root, join(base, "outside"), `${root}-two`, join(root, "sub")]) mkdirSync(folder);
  for (const folder of [join(base, "outside"), `${root}-two`, base])
    writeFileSync(join(folder, "secret.txt"), `${SECRET} ${folder.length}`);
  writeFileSync(join(root, "sub", "inside.txt"), "inside");
  const links: { readonly [name: string]: string } = {
    "to-folder": join(base, "outside"),
    "to-file": join(base, "outside", "secret.txt"),
    "to-new": join(base, "outside", "new.txt"),
    "to-base": "..",
    "to-neighbour": "../workspace-two",
    "to-root": "/",
    "to-self": "to-self",
    "to-proc": "/proc/self/root",
    "to-cwd": "/proc/self/cwd",
    "to-fd": "/proc/self/fd",
    "to-link": "to-folder",
    "sub/up": "../..",
    "sub/round": "../../workspace/../outside",
    "sub/above-root": `${"../".repeat(40)}${base.slice(1)}/outside`,
  };
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(root, name));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

function use(name: string, input: JsonObject): Promise<ToolOutcome> {
  return runToolCall(callOf(input, name), createToolbox(createFileTools(root)), createToolRecorder());
}

/** Lists all files outside the workspace with their contents. */
function listOutside(folder = base): readonly string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    if (path === root) return [];
    return lstatSync(path).isDirectory() ? [path, ...listOutside(path)] : [`${path} ${readFileSync(path, "utf8")}`];
  });
}

const target = (): string => join(base, "outside", "secret.txt");
/** Spellings of `../`, including encodings that some program might decode. */
const TRAVERSALS = [
  ..."../ ..\\ ..// .././ ./../ ..;/ ../\\ ..\\/ ....// ..../ ....\\/ .../ ..%2f ..%5c %2e%2e/ %2e%2e%2f %2e./ .%2e/".split(
    " ",
  ),
  ..."%252e%252e%252f %25252e%25252e/ ..%252f ..%255c %c0%ae%c0%ae/ %c0%ae%c0%ae%c0%af ..%c0%af ..%c1%9c %e0%80%ae/".split(
    " ",
  ),
  ..."%u002e%u002e/ ..%u2215 ..%uff0f &#46;&#46;/ \\x2e\\x2e/ \\u002e\\u002e/ ..\u2215 ..\u2044 ..\uff0f ..\uff3c".split(
    " ",
  ),
  ..."\uff0e\uff0e/ \u2024\u2024/ \u2025/ .\u200b./ \u202e../ ..\u00a0/ ..\u0000/ ..\t/ ..\n/ ..\r/ ..\u007f/ ..\ud800/".split(
    " ",
  ),
  ".. /",
  " ../",
  ".. ./",
  "..  /",
  ". ./",
  "sub/../../",
  "sub/../sub/../../",
  "./sub/./.././../",
  "sub//..//..//",
  "nowhere/../../",
  "sub/inside.txt/../../../",
];

/** Other paths that lead out of the workspace. */
function listOthers(): readonly string[] {
  const absolute = target();
  return [
    absolute,
    `/${absolute}`,
    `///${absolute}`,
    `/.${absolute}`,
    `/..${absolute}`,
    `file://${absolute}`,
    `file:${absolute}`,
    `~/secret.txt`,
    `~root/secret.txt`,
    "$HOME/secret.txt",
    "${HOME}/secret.txt",
    "`pwd`/../secret.txt",
    "$(pwd)/../x",
    "/etc/passwd",
    "/proc/self/environ",
    "/proc/self/cwd/secret.txt",
    "/dev/stdin",
    "/dev/fd/0",
    "/dev/zero",
    "/",
    "\\\\server\\share\\secret.txt",
    "//server/share/secret.txt",
    "\\\\?\\C:\\secret.txt",
    "\\\\.\\C:",
    "//?/C:/secret.txt",
    "C:\\secret.txt",
    "C:/secret.txt",
    "C:secret.txt",
    "c:",
    "C:..\\secret.txt",
    "Z:/../secret.txt",
    "secret.txt::$DATA",
    "..",
    "../",
    ".",
    "./..",
    "/..",
    "...",
    "../workspace-two/secret.txt",
    `${root}-two/secret.txt`,
    `${root}/../secret.txt`,
    `${root}/../outside/secret.txt`,
    `${root}/sub/../../outside/secret.txt`,
    `${root}//../secret.txt`,
    `${root}/./../secret.txt`,
    "to-folder/secret.txt",
    "to-folder",
    "to-file",
    "to-new",
    "to-base/secret.txt",
    "to-base/outside/secret.txt",
    "to-base",
    "to-neighbour/secret.txt",
    `to-root${absolute}`,
    "to-root",
    "to-self",
    "to-self/x",
    `to-proc${absolute}`,
    "to-proc/etc/passwd",
    "to-cwd/secret.txt",
    "to-cwd",
    "to-fd/0",
    "to-link/secret.txt",
    "to-link",
    "sub/up/secret.txt",
    "sub/up/outside/secret.txt",
    "sub/round/secret.txt",
    "sub/above-root/secret.txt",
    "./to-folder//secret.txt",
    "to-folder/./secret.txt",
    `${root}/to-file`,
    "to-folder/new.txt",
    "to-base/new.txt",
    "to-file/x",
    "sub/inside.txt/x",
    "sub/inside.txt/../../to-file",
    "to-folder\u0000/x",
    "secret.txt\u0000",
    `\u0000${absolute}`,
    "sub\u0000/../../secret.txt",
    "\u0000",
    "a\u0000../../secret.txt",
    "",
    " ",
    "\n",
    "\t",
    "secret.txt.",
    "secret.txt ",
    "../secret.txt.",
    "../secret.txt ",
    "../secret.txt/",
    "../SECRET.TXT",
    "to-file.",
    "to-file ",
    "CON",
    "nul",
    "com1.txt",
    "aux/",
    "to\u2010file",
    "to-file\u0301",
    "TO-FILE",
    "to\u00adfile",
    "a/".repeat(70),
    "b".repeat(300),
    "../".repeat(1500) + absolute.slice(1),
    "x/".repeat(60) + "../".repeat(61) + "secret.txt",
    "/".repeat(5000) + absolute.slice(1),
    "./".repeat(2040) + "../secret.txt",
    "\u0065\u0301/../../secret.txt",
    "\u00e9/../../secret.txt",
    "\ud800/../../secret.txt",
  ];
}

function listPaths(): readonly string[] {
  const climbed = TRAVERSALS.flatMap((climb) => [
    `${climb}secret.txt`,
    `sub/${climb}${climb}outside/secret.txt`,
    `/${climb.repeat(12)}${target().slice(1)}`,
  ]);
  return [...climbed, ...listOthers()];
}

describe("a path out of the workspace", () => {
  for (const tool of TOOLS)
    testThreat("path-traversal", `does not reach files outside with ${tool}`, async ({ attempt }) => {
      const before = listOutside();
      for (const path of listPaths())
        await attempt(JSON.stringify(path.slice(0, 120)), async () => {
          const input = tool === "write_file" ? { path, content: "OWNED" } : { path };
          const { result, isError, output } = await use(tool, input);
          const text = `${result} ${JSON.stringify(output ?? null)}`;
          expect(text).not.toContain(SECRET);
          // A listing of an outside folder under any name.
          if (tool === "list_files" && !isError) expect(text).not.toMatch(/workspace-two|secret\.txt|passwd|environ/);
          expect(listOutside()).toEqual(before);
        });
    });

  testThreat(
    "path-traversal",
    "is refused before the user is asked, if the path alone shows it",
    async ({ attempt }) => {
      const paths = [
        "../secret.txt",
        target(),
        "sub/../../secret.txt",
        "..\\secret.txt",
        "a\u0000b",
        "\ud800",
        `${root}-two/x`,
      ];
      for (const path of paths)
        for (const tool of TOOLS)
          await attempt(`${tool} ${JSON.stringify(path)}`, async () => {
            const asked: unknown[] = [];
            const host = createToolRecorder({
              requestApproval: async (request) => {
                asked.push(request);
                return { decision: "approved", arguments: request.arguments };
              },
            });
            const input = tool === "write_file" ? { path, content: "OWNED" } : { path };
            const outcome = await runToolCall(callOf(input, tool), createToolbox(createFileTools(root)), host);
            expect([outcome.errorCode, asked]).toEqual(["path_refused", []]);
            expect(outcome.result.replaceAll(JSON.stringify(path), "")).not.toContain(base);
          });
    },
  );

  testThreat("path-traversal", "through a hard link does not change or delete the shared file", async ({ attempt }) => {
    const before = listOutside();
    for (const tool of ["write_file", "delete_file"])
      await attempt(tool, async () => {
        rmSync(join(root, "shared.txt"), { force: true });
        linkSync(target(), join(root, "shared.txt"));
        const { isError } = await use(tool, {
          path: "shared.txt",
          ...(tool === "write_file" ? { content: "OWNED" } : {}),
        });
        expect(isError).toBe(false);
        expect(listOutside()).toEqual(before);
      });
  });

  testThreat("path-traversal", "is not opened while links are replaced concurrently", async ({ count }) => {
    const script = `const fs = require("fs"); process.chdir(${JSON.stringify(root)});
      fs.symlinkSync(${JSON.stringify(join(base, "outside"))}, "way"); fs.mkdirSync("real"); fs.writeFileSync("real/secret.txt", "inside");
      for (;;) try { fs.renameSync("real", "keep"); fs.renameSync("way", "real"); fs.renameSync("real", "way"); fs.renameSync("keep", "real"); } catch {}`;
    const before = listOutside();
    const child = spawn(process.execPath, ["-e", script], { stdio: "ignore" });
    try {
      const deadline = performance.now() + 600;
      let seen = 0;
      while (performance.now() < deadline) {
        const { result } = await use("read_file", { path: "real/secret.txt" });
        expect(result).not.toContain(SECRET);
        if (result === "inside") seen++;
        await use("write_file", { path: "real/secret.txt", content: "inside" });
        await use("delete_file", { path: "way/secret.txt" });
        count(3);
      }
      expect(seen).toBeGreaterThan(0);
      expect(listOutside()).toEqual(before);
    } finally {
      child.kill("SIGKILL");
    }
  });
});
