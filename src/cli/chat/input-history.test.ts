import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { InputHistory } from "./input-history.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-history-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("InputHistory", () => {
  it("keeps messages over processes, in a file that only the owner reads", () => {
    const file = join(folder, "new", "history");
    const first = new InputHistory(file);
    first.add("one\ntwo");
    first.add("one\ntwo");
    first.add("three");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const second = new InputHistory(file);
    expect(second.move(-1, "draft")).toBe("three");
    expect(second.move(-1, "")).toBe("one\ntwo");
    expect(second.move(-1, "")).toBeUndefined();
    expect(second.move(1, "")).toBe("three");
    expect(second.move(1, "")).toBe("draft");
    expect(second.move(1, "")).toBeUndefined();
  });

  it("skips damaged lines and stays bounded", () => {
    const file = join(folder, "bounded");
    writeFileSync(file, `"a"\n{damaged\n7\n`);
    const history = new InputHistory(file);
    expect(history.move(-1, "")).toBe("a");
    history.leave();
    expect(history.move(1, "")).toBeUndefined();
    for (let index = 0; index < 2100; index++) history.add(`message ${index}`);
    expect(readFileSync(file, "utf8").split("\n").length).toBeLessThan(2002);
    expect(new InputHistory(file).move(-1, "")).toBe("message 2099");
  });
});
