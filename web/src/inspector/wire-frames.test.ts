// Frames of other dialects.
import { describe, expect, it } from "vitest";
import { findType, WireFrames } from "./wire-frames.ts";

describe("WireFrames", () => {
  it.each([
    ['{"type":"token","n":1}', "token"],
    ['{"Messages":{"x":1}}', "Messages"],
    ["[DONE]", ""],
    ["[1]", ""],
    ["{}", ""],
  ])("the type of %s is %s", (text, type) => {
    expect(findType(text)).toBe(type);
  });

  it("keeps frames and the last cursor", () => {
    const wire = new WireFrames("s", "r", "engine");
    wire.add({ text: "{}", cursor: "1" });
    wire.add({ text: "{}" });
    wire.frames.setStatus("whole");
    expect([wire.cursor, wire.frames.getSnapshot()]).toEqual([
      "1",
      { count: 2, omitted: 0, status: "whole", error: undefined },
    ]);
  });
});
