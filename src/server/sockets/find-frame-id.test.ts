import { describe, expect, it } from "vitest";
import { findFrameId } from "./find-frame-id.ts";

const long = "x".repeat(10_000);
const frame = (fields: object) => JSON.stringify(fields);

describe("the id of a frame that is too long", () => {
  it.each([
    ["at the start", frame({ type: "run", id: "c 1", session: "s", message: long })],
    ["with a blank here and there", `{ "type" : "run", "id" : "c 1" , "message": "${long}" }`],
    ["at the end", frame({ type: "run", message: long, id: "c 1", session: "s" })],
    ["as the last of all", `${frame({ type: "run", message: long }).slice(0, -1)}, "id": "c 1" }\n`],
  ])("is found %s", (_where, text) => {
    expect(findFrameId(text, text.length)).toBe("c 1");
    expect(findFrameId(text, 100)).toBe("c 1");
  });

  it("is read as JSON reads it", () => {
    const id = 'a"b\\c\u{1F600}\n';
    expect(findFrameId(frame({ id, message: long }), 100)).toBe(id);
  });

  it.each([
    ["of something inside", frame({ type: "approve", arguments: { id: "no", text: long }, n: 1 })],
    ["of something inside, at the end", frame({ type: "approve", text: long, arguments: { a: "b", id: "no" } })],
    ["in a text", frame({ type: "run", message: `","id":"no",${long}","id":"no"}` })],
    ["that is a number", frame({ id: 7, message: long })],
    ["that is too long itself", frame({ id: long })],
    ["of nonsense", long],
    ["of a list", `[${long}]`],
  ])("is not that %s", (_what, text) => {
    expect(findFrameId(text, 100)).toBeUndefined();
    expect(findFrameId(text, text.length)).toBeUndefined();
  });
});
