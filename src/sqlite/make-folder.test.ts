import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { makeFolder } from "./make-folder.ts";

const root = mkdtempSync(join(tmpdir(), "loom-folder-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

describe("makeFolder", () => {
  it("creates a folder and its parents once", () => {
    const folder = join(root, "a", "b", "c");
    expect(makeFolder(folder)).toBe(join(root, "a"));
    expect(existsSync(folder)).toBe(true);
    expect(makeFolder(folder)).toBeUndefined();
  });

  it("fails if a file is in the way", () => {
    writeFileSync(join(root, "file"), "");
    for (const path of ["file", "file/a/b"]) expect(() => makeFolder(join(root, path))).toThrow(/EEXIST|ENOTDIR/);
  });

  it.runIf(existsSync("/proc/self"))("fails at once where no folder can be created", () => {
    expect(() => makeFolder("/proc/none/a/b")).toThrow(/ENOENT|EACCES|EPERM/);
  });
});
