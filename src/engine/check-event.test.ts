import { describe, expect, it } from "vitest";
import type { AnyEvent } from "../protocol/index.ts";
import { assertNodeId, checkEvent, MAX_EVENT_NAME_LENGTH } from "./check-event.ts";

const custom = (value: unknown): AnyEvent => ({ type: "custom", value }) as AnyEvent;
const refused = (path?: string): unknown =>
  expect.objectContaining({
    code: "invalid_event",
    ...(path === undefined ? {} : { details: expect.objectContaining({ path }) as unknown }),
  });

describe("checkEvent", () => {
  it("gives plain events as they are", () => {
    const chunk = { type: "message_chunk", content: "x", id: "n" };
    expect(checkEvent(chunk)).toBe(chunk);
    const nested = custom({ list: [1, "a", null, { deep: true }] });
    expect(checkEvent(nested)).toBe(nested);
  });

  it("gives all others as JSON writes them", () => {
    class Point {
      readonly x = 1;
    }
    expect(checkEvent(custom(new Date(0)))).toEqual(custom("1970-01-01T00:00:00.000Z"));
    expect(checkEvent(custom([undefined, new Point(), { gone: undefined }]))).toEqual(custom([null, { x: 1 }, {}]));
    expect(checkEvent(custom([Object.assign([1], { toJSON: () => "list" })]))).toEqual(custom(["list"]));
  });

  it.each([
    ["has no text", custom({ toJSON: () => undefined })],
    ["is a function", custom(() => 1)],
    ["JSON has no form for", custom({ n: 1n })],
    [
      "throws",
      custom({
        toJSON: () => {
          throw new Error("no");
        },
      }),
    ],
    ["makes something else of the event", { type: "custom", value: 1, toJSON: () => 5 } as unknown as AnyEvent],
    [
      "holds itself",
      (() => {
        const loop: unknown[] = [];
        loop.push(loop);
        return custom(loop);
      })(),
    ],
  ])("refuses a value that %s", (_what, event) => {
    expect(() => checkEvent(event)).toThrow(refused());
  });

  it("judges the event by what is written, not by what it says it is", () => {
    const disguised = { type: "custom", value: 1, toJSON: () => ({ type: "run_end", status: "completed" }) };
    expect(checkEvent(disguised as unknown as AnyEvent).type).toBe("run_end");
  });

  it.each([
    ["name", { type: "tool_start", call_id: "c" }],
    ["call_id", { type: "tool_start", name: "n" }],
    ["id", { type: "node_enter" }],
    ["id", { type: "message_chunk", content: "" }],
    ["llm_call_id", { type: "llm_start" }],
    ["list_id", { type: "todo_update", item_id: "i" }],
    ["code", { type: "error", message: "" }],
  ])("bounds `%s` of %o", (field, event) => {
    const name = "n".repeat(MAX_EVENT_NAME_LENGTH);
    expect(checkEvent({ ...event, [field]: name })).toMatchObject({ [field]: name });
    expect(() => checkEvent({ ...event, [field]: `${name}n` })).toThrow(refused(field));
    expect(() => checkEvent({ ...event, [field]: "four" }, 3)).toThrow(refused(field));
  });

  it("does not bound what is no name", () => {
    const content = "x".repeat(MAX_EVENT_NAME_LENGTH + 1);
    expect(checkEvent({ type: "message_chunk", content, id: "n" })).toMatchObject({ content });
  });
});

describe("assertNodeId", () => {
  it("takes ids and nothing else", () => {
    assertNodeId(undefined);
    assertNodeId(`run-${"n".repeat(MAX_EVENT_NAME_LENGTH)}-1`);
    for (const wrong of [5, null, {}, "n".repeat(MAX_EVENT_NAME_LENGTH * 2)])
      expect(() => assertNodeId(wrong)).toThrow(refused("node_id"));
  });
});
