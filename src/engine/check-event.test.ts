import { describe, expect, it } from "vitest";
import { EVENTS } from "../protocol/events/index.ts";
import type { AnyEvent } from "../protocol/index.ts";
import { assertNodeId, checkEvent, MAX_NAME_LENGTH } from "./check-event.ts";

const custom = (value: unknown): AnyEvent => ({ type: "custom", value }) as AnyEvent;
const rejected = (path?: string): unknown =>
  expect.objectContaining({
    code: "invalid_event",
    ...(path === undefined ? {} : { details: expect.objectContaining({ path }) as unknown }),
  });

describe("checkEvent", () => {
  it("returns plain events unchanged", () => {
    const chunk = { type: "message_chunk", content: "x", id: "n" };
    expect(checkEvent(chunk)).toBe(chunk);
    const nested = custom({ list: [1, "a", null, { deep: true }] });
    expect(checkEvent(nested)).toBe(nested);
  });

  it("returns other events in their JSON form", () => {
    class Point {
      readonly x = 1;
    }
    expect(checkEvent(custom(new Date(0)))).toEqual(custom("1970-01-01T00:00:00.000Z"));
    expect(checkEvent(custom([undefined, new Point(), { gone: undefined }]))).toEqual(custom([null, { x: 1 }, {}]));
    expect(checkEvent(custom([Object.assign([1], { toJSON: () => "list" })]))).toEqual(custom(["list"]));
  });

  it.each([
    ["has no JSON text", custom({ toJSON: () => undefined })],
    ["is a function", custom(() => 1)],
    ["JSON cannot represent", custom({ n: 1n })],
    [
      "throws",
      custom({
        toJSON: () => {
          throw new Error("no");
        },
      }),
    ],
    ["turns the event into a number", { type: "custom", value: 1, toJSON: () => 5 } as unknown as AnyEvent],
    [
      "contains itself",
      (() => {
        const loop: unknown[] = [];
        loop.push(loop);
        return custom(loop);
      })(),
    ],
  ])("rejects a value that %s", (_what, event) => {
    expect(() => checkEvent(event)).toThrow(rejected());
  });

  it("checks the JSON form of the event, not the object", () => {
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
  ])("limits the length of `%s` in %o", (field, event) => {
    const name = "n".repeat(MAX_NAME_LENGTH);
    expect(checkEvent({ ...event, [field]: name })).toMatchObject({ [field]: name });
    expect(() => checkEvent({ ...event, [field]: `${name}n` })).toThrow(rejected(field));
  });

  it("does not limit the length of texts", () => {
    const content = "x".repeat(MAX_NAME_LENGTH + 1);
    expect(checkEvent({ type: "message_chunk", content, id: "n" })).toMatchObject({ content });
  });
});

describe("an event without required fields", () => {
  // A field that may be left out of a stream, but not of a run that is written here.
  const needsCallId = (type: string): boolean => /^tool_(?!call_chunk|permission)/.test(type);

  it.each(Object.entries(EVENTS))("names all of them: %s", (type, { fields }) => {
    const missing = Object.entries(fields).flatMap(([name, { required }]) => (required ? [name] : []));
    if (missing.length === 0) return;
    if (needsCallId(type)) missing.push("call_id");
    const messages: string[] = [];
    try {
      checkEvent({ type }, true);
    } catch (error) {
      messages.push((error as Error).message);
    }
    for (const name of missing) expect(messages).toEqual([expect.stringContaining(`\`${name}\``)]);
  });

  it("names what a `tool_end` lacks", () => {
    const check = (event: object) => () => checkEvent({ type: "tool_end", ...event }, true);
    expect(check({})).toThrow(
      "`tool_end`: `name` is missing; it must be a string. `result` is missing; it must be a string. `is_error` is missing; it must be true or false. `call_id` is missing; it must be a string",
    );
    expect(check({ call_id: "c", name: "n", result: "" })).toThrow(
      "`tool_end`: `is_error` is missing; it must be true or false",
    );
    expect(check({ call_id: "c", name: 5 })).toThrow("`tool_end`: `name` must be a string, not 5");
  });
});

describe("assertNodeId", () => {
  it("accepts only IDs", () => {
    assertNodeId(undefined);
    assertNodeId(`run-${"n".repeat(MAX_NAME_LENGTH)}-1`);
    for (const wrong of [5, null, {}, "n".repeat(MAX_NAME_LENGTH * 2)])
      expect(() => assertNodeId(wrong)).toThrow(rejected("node_id"));
  });
});
