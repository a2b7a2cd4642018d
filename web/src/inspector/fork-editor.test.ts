import { expect, test } from "vitest";
import { readEditedState } from "./fork-editor.tsx";

const BEFORE = { messages: [{ role: "user" }], count: 1 };

test("sends only the channels that changed", () => {
  expect(readEditedState(BEFORE, JSON.stringify(BEFORE, undefined, 2))).toEqual({ isValid: true, changed: undefined });
  expect(readEditedState(BEFORE, '{"count":2,"messages":[{"role":"user"}]}')).toEqual({
    isValid: true,
    changed: { count: 2 },
  });
  expect(readEditedState(BEFORE, '{"messages":[],"count":1,"new":null}')).toEqual({
    isValid: true,
    changed: { messages: [], new: null },
  });
});

test("says what is wrong", () => {
  const reasonOf = (text: string): unknown => {
    const read = readEditedState(BEFORE, text);
    return read.isValid ? undefined : [read.reason, read.detail];
  };
  expect(reasonOf("{")).toEqual(["json", expect.stringMatching(/JSON/)]);
  for (const text of ["[]", "null", "7", '"x"']) expect(reasonOf(text)).toEqual(["object", ""]);
  expect(reasonOf('{"count":1}')).toEqual(["removed", "messages"]);
});
