// To-do lists that existed before a run.
import { describe, expect, it } from "vitest";
import { findEarlierLists, findType, WireFrames } from "./use-recording.ts";

describe("findEarlierLists", () => {
  it("returns lists that neither this run nor a later one created", () => {
    const todo = (listId: string) => ({ parts: [{ type: "todo", key: "1", listId }] });
    const session = {
      todoLists: ["a", "b", "c"].map((listId) => ({ listId, items: [] })),
      turns: ["a", "b", "c"].map((key) => ({ key, messages: [todo(key)] })),
    } as never;
    const find = (key: string): string[] => findEarlierLists(session, key).map(({ listId }) => listId);
    expect([find("a"), find("b"), find("c"), find("x")]).toEqual([[], ["a"], ["a", "b"], []]);
    expect(findEarlierLists(undefined, "a")).toEqual([]);
  });
});

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
