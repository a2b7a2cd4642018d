import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { callOf, createToolRecorder } from "../../../test/tool-recorder.ts";
import type { JsonObject } from "../../protocol/index.ts";
import { runToolCall } from "../run-tool-call.ts";
import { createToolbox } from "../toolbox.ts";
import { createFileTools, type FileToolOptions } from "./create-file-tools.ts";

let base: string;
let root: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "loom-search-"));
  root = join(base, "desk");
  for (const folder of ["", "sub/deep", "node_modules/x", ".git"]) mkdirSync(join(root, folder), { recursive: true });
  writeFileSync(join(base, "secret.txt"), "todo CANARY");
  writeFileSync(join(root, "a.md"), "one\n  # TODO: two\nthree\n");
  writeFileSync(join(root, "sub", "deep", "b.txt"), "todo 世界");
  writeFileSync(join(root, "node_modules", "x", "c.txt"), "todo");
  writeFileSync(join(root, ".git", "d"), "todo");
  writeFileSync(join(root, "binary"), Buffer.from([0, 1, ...Buffer.from("todo")]));
  symlinkSync(join(base, "secret.txt"), join(root, "link.txt"));
  symlinkSync(base, join(root, "out"));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

async function search(input: JsonObject, options?: FileToolOptions) {
  const host = createToolRecorder();
  const outcome = await runToolCall(callOf(input, "search_files"), createToolbox(createFileTools(root, options)), host);
  return { ...outcome, host };
}

it("streams each match and ends with a summary", async () => {
  const { result, host, output } = await search({ query: "todo" });
  expect(result).toBe("a.md:2: # TODO: two\nsub/deep/b.txt:1: todo 世界");
  expect(output).toMatchObject({ files: 2, is_cut: false, matches: [{ path: "a.md", line: 2 }, { line: 1 }] });
  const events = host.events.filter(({ type }) => type === "tool_output" || type === "custom");
  const printed = events.flatMap((event) => (event.type === "tool_output" ? [event.content] : [])).join("");
  expect(printed).toBe(`${result}\n`);
  expect(events.at(-1)).toEqual({
    type: "custom",
    value: { search_files: { query: "todo", files: 2, matches: 2, is_cut: false } },
  });
});

it("does not leave the workspace", async () => {
  for (const input of [{ query: "canary" }, { query: "canary", path: "out" }, { query: "canary", path: ".." }]) {
    const { host, result } = await search(input);
    expect(result + JSON.stringify(host.events.filter(({ type }) => type !== "custom"))).not.toContain("CANARY");
  }
});

it("searches one folder", async () => {
  expect((await search({ query: "TODO", path: "sub" })).result).toBe("sub/deep/b.txt:1: todo 世界");
  expect(await search({ query: "todo", path: "a.md" })).toMatchObject({
    isError: true,
    result: '"a.md" is not a folder',
  });
});

it("says if there is no match, and if something is left out", async () => {
  expect((await search({ query: "nothing like it" })).result).toBe("[No match in 2 files.]");
  expect((await search({ query: "todo" }, { maxMatches: 1 })).result).toMatch(/^a\.md:2: .+\n\[Truncated/);
  expect((await search({ query: "todo" }, { maxSearchedBytes: 15 })).result).toMatch(/^sub.+\n\[Truncated/);
});
