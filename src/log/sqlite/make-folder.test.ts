import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { makeFolder } from "./make-folder.ts";

const root = mkdtempSync(join(tmpdir(), "loom-folder-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

describe("a folder", () => {
  it("is made with those above it, once", () => {
    const folder = join(root, "a", "b", "c");
    expect(makeFolder(folder)).toBe(join(root, "a"));
    expect(existsSync(folder)).toBe(true);
    expect(makeFolder(folder)).toBeUndefined();
  });

  it("is refused where a file is in the way", () => {
    writeFileSync(join(root, "file"), "");
    for (const path of ["file", "file/a/b"]) expect(() => makeFolder(join(root, path))).toThrow(/EEXIST|ENOTDIR/);
  });

  it.runIf(existsSync("/proc/self"))("is refused where none can be made, and at once", () => {
    expect(() => makeFolder("/proc/none/a/b")).toThrow(/ENOENT|EACCES|EPERM/);
  });
});
