import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { CommandResult } from "../../client/index.ts";
import type { TodoItem } from "../../client/view.ts";
import { PendingTodoChanges } from "./pending-todo-changes.ts";

const item = (completed: boolean): TodoItem => ({ id: "i", text: "Buy milk", completed });
const refused: CommandResult = { kind: "refused", code: "unknown_todo", message: "no such list" };

interface Sent {
  readonly completed: boolean;
  answer(outcome: CommandResult): Promise<void>;
  fail(): Promise<void>;
}

function create(): { readonly wishes: PendingTodoChanges; readonly sent: Sent[]; readonly changes: () => number } {
  const sent: Sent[] = [];
  let changes = 0;
  const wishes = new PendingTodoChanges(
    (_, completed) =>
      new Promise((resolve, reject) => {
        const settle = async (action: () => void): Promise<void> => {
          action();
          await Promise.resolve();
          await Promise.resolve();
        };
        sent.push({
          completed,
          answer: async (outcome) => settle(() => resolve(outcome)),
          fail: async () => settle(() => reject(new Error("gone"))),
        });
      }),
    () => changes++,
  );
  return { wishes, sent, changes: () => changes };
}

describe("a pending to-do change", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("is shown at once until the session confirms it", async () => {
    const { wishes, sent } = create();
    wishes.change("i", true);
    expect(wishes.read(item(false))).toBe(true);
    await sent[0]?.answer({ kind: "done" });
    expect(wishes.read(item(false))).toBe(true);
    expect(wishes.read(item(true))).toBeUndefined();
    wishes.settle([item(true)]);
    // Another client reverted it: the session's state wins.
    expect(wishes.read(item(false))).toBeUndefined();
  });

  it("stays while its request is in flight, even if the session briefly matches", async () => {
    const { wishes, sent } = create();
    wishes.change("i", true);
    wishes.settle([item(true)]);
    expect(wishes.read(item(true))).toBe(true);
    await sent[0]?.answer({ kind: "done" });
    expect(wishes.read(item(true))).toBeUndefined();
  });

  it("is reverted and reported if it is rejected or lost", async () => {
    const { wishes, sent, changes } = create();
    wishes.change("i", true);
    await sent[0]?.answer(refused);
    expect(wishes.read(item(false))).toBeUndefined();
    expect(wishes.failure).toEqual({ itemId: "i", outcome: refused });
    expect(changes()).toBe(2);
    wishes.change("i", true);
    expect(wishes.failure).toBeUndefined();
    await sent[1]?.fail();
    expect(wishes.failure?.outcome.kind).toBe("lost");
  });

  it("waits for the previous request, and only the last value is sent", async () => {
    const { wishes, sent } = create();
    wishes.change("i", true);
    wishes.change("i", false);
    wishes.change("i", true);
    wishes.change("i", false);
    expect(sent.map(({ completed }) => completed)).toEqual([true]);
    await sent[0]?.answer({ kind: "done" });
    expect(sent.map(({ completed }) => completed)).toEqual([true, false]);
    expect(wishes.read(item(true))).toBe(false);
    await sent[1]?.answer({ kind: "done" });
    expect(wishes.read(item(false))).toBeUndefined();
  });

  it("is dropped if the session never confirms it", async () => {
    const { wishes, sent, changes } = create();
    wishes.change("i", true);
    await sent[0]?.answer({ kind: "accepted" });
    vi.advanceTimersByTime(9000);
    expect(wishes.read(item(false))).toBeDefined();
    vi.advanceTimersByTime(2000);
    expect(wishes.read(item(false))).toBeUndefined();
    expect(changes()).toBe(3);
  });

  it("is dropped on close", async () => {
    const { wishes, sent, changes } = create();
    wishes.change("i", true);
    wishes.close();
    await sent[0]?.answer(refused);
    expect(wishes.failure).toBeUndefined();
    expect(changes()).toBe(1);
    expect(vi.getTimerCount()).toBe(0);
  });
});
