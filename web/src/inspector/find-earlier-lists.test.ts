// To-do lists that existed before a run.
import { describe, expect, it } from "vitest";
import { findEarlierLists } from "./find-earlier-lists.ts";

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
