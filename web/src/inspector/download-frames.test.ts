// Frames as a file.
import { describe, expect, it } from "vitest";
import { createLongRun } from "../../../test/page/long-run.ts";
import { buildFile, formatFileName } from "./download-frames.ts";

describe("the file", () => {
  it("has a valid name", () => {
    expect(formatFileName("demo", "run-1", "loom")).toBe("demo_run-1_loom.ndjson");
    expect(formatFileName("../a b/会话", "r:1?", "stream-event")).toBe("a-b-会话_r-1_stream-event.ndjson");
    expect(formatFileName("///", "x".repeat(300), "loom")).toBe(`${"x".repeat(60)}_loom.ndjson`);
  });

  it("has one line per frame", async () => {
    const { texts } = createLongRun(2500);
    const file = buildFile((index) => texts[index], texts.length);
    expect(await file.text()).toBe(`${texts.join("\n")}\n`);
  });
});
