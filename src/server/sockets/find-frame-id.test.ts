import { describe, expect, it } from "vitest";
import { findFrameId } from "./find-frame-id.ts";

const long = "x".repeat(10_000);
const frame = (fields: object) => JSON.stringify(fields);

describe("the id of a frame that is too long", () => {
  it.each([
    ["at the start", frame({ type: "run", id: "c 1", session: "s", message: long })],
    ["with extra spaces", `{ "type" : "run", "id" : "c 1" , "message": "${long}" }`],
    ["near the end", frame({ type: "run", message: long, id: "c 1", session: "s" })],
    ["as the last field", `${frame({ type: "run", message: long }).slice(0, -1)}, "id": "c 1" }\n`],
  ])("is found %s", (_where, text) => {
    expect(findFrameId(text, text.length)).toBe("c 1");
    expect(findFrameId(text, 100)).toBe("c 1");
  });

  it("is unescaped as JSON", () => {
    const id = 'a"b\\c\u{1F600}\n';
    expect(findFrameId(frame({ id, message: long }), 100)).toBe(id);
  });

  it.each([
    ["in a nested object", frame({ type: "approve", arguments: { id: "no", text: long }, n: 1 })],
    ["in a nested object at the end", frame({ type: "approve", text: long, arguments: { a: "b", id: "no" } })],
    ["in a string", frame({ type: "run", message: `","id":"no",${long}","id":"no"}` })],
    ["that is a number", frame({ id: 7, message: long })],
    ["that is too long", frame({ id: long })],
    ["in invalid JSON", long],
    ["in a list", `[${long}]`],
  ])("ignores an id %s", (_what, text) => {
    expect(findFrameId(text, 100)).toBeUndefined();
    expect(findFrameId(text, text.length)).toBeUndefined();
  });
});
