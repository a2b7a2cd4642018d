import { chmodSync, mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { callOf, createToolRecorder, run } from "../../../test/tool-recorder.ts";
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

/** Calls a tool as an agent does, and returns what the user was asked to approve. */
async function use(
  name: string,
  input: JsonObject,
  options: FileToolOptions = {},
): Promise<ToolOutcome & { asked: JsonObject[] }> {
  const asked: JsonObject[] = [];
  const host = createToolRecorder({
    requestApproval: async ({ arguments: given }) => {
      asked.push(given);
      return { decision: "approved", arguments: given };
    },
  });
  const outcome = await run(find(createFileTools(root, options), name), host, callOf(input, name));
  return { ...outcome, asked };
}

describe("approval of file changes", () => {
  it("is required if the option is undefined", async () => {
    const given = { approval: undefined, maxWriteBytes: undefined, timeoutMs: undefined } as unknown as FileToolOptions;
    for (const tools of [createFileTools(root, given), createBuiltinTools({ workspace: root, files: given })])
      for (const name of ["write_file", "delete_file"])
        expect(await find(tools, name).needsApproval({ path: "a" })).toBe(true);
    expect(await use("write_file", { path: "a", content: "x" }, given)).toMatchObject({ isError: false });
  });

  it("accepts only a known policy or a function", () => {
    for (const approval of ["ask", "", null, true, 1])
      expect(() => createFileTools(root, { approval: approval as never })).toThrow(/approval/);
  });

  it("uses one spelling of a path for the policy, the user and the tool", async () => {
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

describe("the preview of a write", () => {
  const preview = async (content: string, path = "secret/b", options: FileToolOptions = {}): Promise<unknown> => {
    const previews: unknown[] = [];
    const host = createToolRecorder({
      requestApproval: async (request) => {
        previews.push(request.preview);
        return { decision: "approved", arguments: request.arguments };
      },
    });
    await run(find(createFileTools(root, options), "write_file"), host, callOf({ path, content }, "write_file"));
    return previews[0];
  };

  it("is a diff of the existing file and the new text", async () => {
    expect(await preview("SECRET\nmore\n")).toBe("@@ -1,1 +1,2 @@\n SECRET\n+more");
    expect(readFileSync(join(root, "secret", "b"), "utf8")).toBe("SECRET\nmore\n");
  });

  it("is absent for a new file, equal or binary text, a large file and a path that is refused later", async () => {
    expect(await preview("x", "new")).toBeUndefined();
    expect(await preview("SECRET")).toBeUndefined();
    expect(await preview("x", "secret/b", { maxWriteBytes: 3 })).toBeUndefined();
    writeFileSync(join(root, "binary"), Buffer.from([0, 255]));
    expect(await preview("x", "binary")).toBeUndefined();
    expect(await preview("x", "secret")).toBeUndefined();
  });
});

describe("file safety", () => {
  it("rejects an empty workspace path", () => {
    for (const workspace of ["", "  "])
      expect(() => createBuiltinTools({ workspace })).toThrow(
        expect.toSatisfy((error) => isLoomError(error, "tool_invalid")),
      );
  });

  it("does not replace a read-only file", async () => {
    chmodSync(join(root, "secret", "b"), 0o444);
    const written = await use("write_file", { path: "secret/b", content: "new" });
    expect(written).toMatchObject({ isError: true, result: '"secret/b" is read-only' });
    expect(readFileSync(join(root, "secret", "b"), "utf8")).toBe("SECRET");
  });

  it("does not repeat a write after a crash", () => {
    const isRepeated = createFileTools(root).map(({ name, idempotent }) => [name, idempotent === true]);
    expect(isRepeated).toEqual([
      ["read_file", true],
      ["list_files", true],
      ["search_files", true],
      ["write_file", false],
      ["delete_file", false],
    ]);
  });

  it("returns text exactly, or fails", async () => {
    const marked = "\uFEFFline\n\uFEFFmore 龍🙂";
    writeFileSync(join(root, "marked.txt"), marked);
    expect((await use("read_file", { path: "marked.txt" })).result).toBe(marked);
    const { result } = await use("read_file", { path: "marked.txt", offset: 8 });
    expect(result).toBe("\uFEFFmore 龍🙂");
    // An offset inside a character moves to the next one.
    const size = Buffer.byteLength(marked);
    expect(await use("read_file", { path: "marked.txt", offset: size - 6 })).toMatchObject({
      result: "🙂",
      output: { offset: size - 4 },
    });
    for (const bytes of [Buffer.from("caf\xe9 au lait", "latin1"), Buffer.from([0x61, 0xe9, 0x8c])]) {
      writeFileSync(join(root, "other.txt"), bytes);
      expect(await use("read_file", { path: "other.txt" })).toMatchObject({
        errorCode: "tool_failed",
        result: "The file is not UTF-8 text",
      });
    }
  });
});
