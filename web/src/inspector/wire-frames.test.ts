// Frames of other dialects, as they are.
import { describe, expect, it } from "vitest";
import { findType, WireFrames } from "./wire-frames.ts";

describe("frames of other dialects", () => {
  it.each([
    ['{"type":"token","n":1}', "token"],
    ['{"Messages":{"x":1}}', "Messages"],
    ["[DONE]", ""],
    ["[1]", ""],
    ["{}", ""],
  ])("%s is called %s", (text, type) => {
    expect(findType(text)).toBe(type);
  });

  it("are kept with the cursor to go on after", () => {
    const wire = new WireFrames("s", "r", "engine");
    wire.add({ text: "{}", cursor: "1" });
    wire.add({ text: "{}" });
    wire.setStatus("whole");
    expect([wire.cursor, wire.getSnapshot()]).toEqual([
      "1",
      { count: 2, omitted: 0, status: "whole", error: undefined },
    ]);
  });
});
