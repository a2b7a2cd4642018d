// Frames as a file.
import { describe, expect, it } from "vitest";
import { createLongRun } from "../../../test/page/long-run.ts";
import { makeFile, nameFile } from "./download-frames.ts";

describe("the file", () => {
  it("has a name that can be one", () => {
    expect(nameFile("demo", "run-1", "loom")).toBe("demo_run-1_loom.ndjson");
    expect(nameFile("../a b/会话", "r:1?", "stream-event")).toBe("a-b-会话_r-1_stream-event.ndjson");
    expect(nameFile("///", "x".repeat(300), "loom")).toBe(`${"x".repeat(60)}_loom.ndjson`);
  });

  it("has a line for each frame", async () => {
    const { texts } = createLongRun(2500);
    const file = makeFile((index) => texts[index], texts.length);
    expect(await file.text()).toBe(`${texts.join("\n")}\n`);
  });
});
