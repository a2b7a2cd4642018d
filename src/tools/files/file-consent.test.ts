import { chmodSync, mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { callOf, record, run } from "../../../test/tool-recorder.ts";
import { isLoomError, type JsonObject } from "../../protocol/index.ts";
import { createBuiltinTools } from "../builtin-tools.ts";
import type { Tool, ToolOutcome } from "../tool.ts";
import { createFileTools, type FileToolOptions } from "./create-file-tools.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "loom-consent-"));
  mkdirSync(join(root, "secret"));
  writeFileSync(join(root, "secret", "b"), "SECRET");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function find(tools: readonly Tool[], name: string): Tool {
  const tool = tools.find((each) => each.name === name);
  if (tool === undefined) throw new Error(`no ${name}`);
  return tool;
}

/** Calls a tool as an agent does, and says what the user was asked about. */
async function use(
  name: string,
  input: JsonObject,
  options: FileToolOptions = {},
): Promise<ToolOutcome & { asked: JsonObject[] }> {
  const asked: JsonObject[] = [];
  const host = record({
    requestApproval: async ({ arguments: given }) => {
      asked.push(given);
      return { decision: "approved", arguments: given };
    },
  });
  const outcome = await run(find(createFileTools(root, options), name), host, callOf(input, name));
  return { ...outcome, asked };
}

describe("consent to change files", () => {
  it("is asked for although an option is there and undefined", async () => {
    const given = { approval: undefined, maxWriteBytes: undefined, timeoutMs: undefined } as unknown as FileToolOptions;
    for (const tools of [createFileTools(root, given), createBuiltinTools({ workspace: root, files: given })])
      for (const name of ["write_file", "delete_file"])
        expect(await find(tools, name).needsApproval({ path: "a" })).toBe(true);
    expect(await use("write_file", { path: "a", content: "x" }, given)).toMatchObject({ isError: false });
  });

  it("is decided by a word or a function, and nothing else", () => {
    for (const approval of ["ask", "", null, true, 1])
      expect(() => createFileTools(root, { approval: approval as never })).toThrow(/approval/);
  });

  it("sees one spelling of a path, and so do the user and the tool", async () => {
    const approval = ({ path }: { path: string }): boolean => path.startsWith("secret/");
    const spellings = ["secret/b", "./secret/b", "secret//b", "secret/./b", ".//secret/b/", join(root, "secret/b")];
    for (const path of spellings) {
      const written = await use("write_file", { path, content: "SECRET" }, { approval });
      expect(written.asked).toEqual([{ path: "secret/b", content: "SECRET" }]);
      expect(written.output).toMatchObject({ path: "secret/b" });
    }
    expect((await use("write_file", { path: "./open/b", content: "x" }, { approval })).asked).toEqual([]);
    const refused = await use("write_file", { path: "../x", content: "x" });
    expect(refused).toMatchObject({ errorCode: "path_refused", asked: [] });
    expect((await use("list_files", { path: root })).output).toMatchObject({ path: "." });
  });
});

describe("files that must not be lost", () => {
  it("are those of a folder that was named", () => {
    for (const workspace of ["", "  "])
      expect(() => createBuiltinTools({ workspace })).toThrow(
        expect.toSatisfy((error) => isLoomError(error, "tool_invalid")),
      );
  });

  it("may be read-only", async () => {
    chmodSync(join(root, "secret", "b"), 0o444);
    const written = await use("write_file", { path: "secret/b", content: "new" });
    expect(written).toMatchObject({ isError: true, result: '"secret/b" is read-only.' });
    expect(readFileSync(join(root, "secret", "b"), "utf8")).toBe("SECRET");
  });

  it("are not written a second time by themselves", () => {
    const isRepeated = createFileTools(root).map(({ name, idempotent }) => [name, idempotent === true]);
    expect(isRepeated).toEqual([
      ["read_file", true],
      ["list_files", true],
      ["write_file", false],
      ["delete_file", false],
    ]);
  });

  it("are given whole or not at all", async () => {
    const marked = "\uFEFFline\n\uFEFFmore 龍🙂";
    writeFileSync(join(root, "marked.txt"), marked);
    expect((await use("read_file", { path: "marked.txt" })).result).toBe(marked);
    const { result } = await use("read_file", { path: "marked.txt", offset: 8 });
    expect(result).toBe("\uFEFFmore 龍🙂");
    // An offset into the middle of a character is one to the next.
    const size = Buffer.byteLength(marked);
    expect(await use("read_file", { path: "marked.txt", offset: size - 6 })).toMatchObject({
      result: "🙂",
      output: { offset: size - 4 },
    });
    for (const bytes of [Buffer.from("caf\xe9 au lait", "latin1"), Buffer.from([0x61, 0xe9, 0x8c])]) {
      writeFileSync(join(root, "other.txt"), bytes);
      expect(await use("read_file", { path: "other.txt" })).toMatchObject({
        errorCode: "tool_failed",
        result: "The file is not a text file in UTF-8.",
      });
    }
  });
});
