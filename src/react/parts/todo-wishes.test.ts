// Ticks before the session says so: at once, in order, and taken back where they are refused.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { CommandOutcome, TodoItem } from "../../client/index.ts";
import { TodoWishes } from "./todo-wishes.ts";

const item = (completed: boolean): TodoItem => ({ id: "i", text: "Buy milk", completed });
const refused: CommandOutcome = { kind: "refused", code: "unknown_todo", message: "no such list" };

interface Sent {
  readonly completed: boolean;
  answer(outcome: CommandOutcome): Promise<void>;
  fail(): Promise<void>;
}

function create(): { readonly wishes: TodoWishes; readonly sent: Sent[]; readonly changes: () => number } {
  const sent: Sent[] = [];
  let changes = 0;
  const wishes = new TodoWishes(
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

describe("a wish", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("is shown at once, and until the view shows it", async () => {
    const { wishes, sent } = create();
    wishes.wish("i", true);
    expect(wishes.read(item(false))).toBe(true);
    await sent[0]?.answer({ kind: "done" });
    expect(wishes.read(item(false))).toBe(true);
    expect(wishes.read(item(true))).toBeUndefined();
    wishes.settle([item(true)]);
    // Somebody else took it away again: the view is the truth.
    expect(wishes.read(item(false))).toBeUndefined();
  });

  it("is shown while it is under way although the view shows the same for a moment", async () => {
    const { wishes, sent } = create();
    wishes.wish("i", true);
    wishes.settle([item(true)]);
    expect(wishes.read(item(true))).toBe(true);
    await sent[0]?.answer({ kind: "done" });
    expect(wishes.read(item(true))).toBeUndefined();
  });

  it("that is refused or lost is taken back, and told", async () => {
    const { wishes, sent, changes } = create();
    wishes.wish("i", true);
    await sent[0]?.answer(refused);
    expect(wishes.read(item(false))).toBeUndefined();
    expect(wishes.trouble).toEqual({ itemId: "i", outcome: refused });
    expect(changes()).toBe(2);
    wishes.wish("i", true);
    expect(wishes.trouble).toBeUndefined();
    await sent[1]?.fail();
    expect(wishes.trouble?.outcome.kind).toBe("lost");
  });

  it("waits for the one before it, and only the last is sent", async () => {
    const { wishes, sent } = create();
    wishes.wish("i", true);
    wishes.wish("i", false);
    wishes.wish("i", true);
    wishes.wish("i", false);
    expect(sent.map(({ completed }) => completed)).toEqual([true]);
    await sent[0]?.answer({ kind: "done" });
    expect(sent.map(({ completed }) => completed)).toEqual([true, false]);
    expect(wishes.read(item(true))).toBe(false);
    await sent[1]?.answer({ kind: "done" });
    expect(wishes.read(item(false))).toBeUndefined();
  });

  it("that was taken and never shows is given up", async () => {
    const { wishes, sent, changes } = create();
    wishes.wish("i", true);
    await sent[0]?.answer({ kind: "accepted" });
    vi.advanceTimersByTime(9000);
    expect(wishes.read(item(false))).toBeDefined();
    vi.advanceTimersByTime(2000);
    expect(wishes.read(item(false))).toBeUndefined();
    expect(changes()).toBe(3);
  });

  it("leaves nothing behind when nobody looks any more", async () => {
    const { wishes, sent, changes } = create();
    wishes.wish("i", true);
    wishes.close();
    await sent[0]?.answer(refused);
    expect(wishes.trouble).toBeUndefined();
    expect(changes()).toBe(1);
    expect(vi.getTimerCount()).toBe(0);
  });
});
