/** Hostile input is limited and reported, and does not affect other sessions. */
import { describe, expect, it } from "vitest";
import { RECEIVER_LIMITS, createReceiver, type Receiver } from "../../src/client/index.ts";
import type { AnyEvent } from "../../src/protocol/index.ts";
import { SAMPLES } from "../sampling.ts";
import { contentOf, framesOf, receive, type SessionView } from "./streams.ts";

const GOOD = framesOf("react-tools", "loom");

/** Creates frames of session "bad", numbered from 1. */
function createBad(): (event: AnyEvent | object) => string {
  let event_id = 0;
  return (event) => {
    event_id++;
    const envelope = { session_id: "bad", run_id: "r", node_id: "n", event_id, ts: event_id };
    return JSON.stringify(event_id === 1 ? { ...envelope, node_id: undefined, ...event } : { ...envelope, ...event });
  };
}

const START = { type: "run_start", run_id: "r", contiguous: true };

/** Feeds a good session with hostile input in between. The good session must not be affected. */
function harm(push: (source: ReturnType<Receiver["open"]>) => void, limits = {}): SessionView | undefined {
  const receiver = createReceiver({ limits });
  const good = receiver.open();
  const bad = receiver.open();
  const half = Math.floor(GOOD.length / 2);
  for (const text of GOOD.slice(0, half)) good.push(text);
  push(bad);
  for (const text of GOOD.slice(half)) good.push(text);
  good.end();
  const { sessions } = receiver.getSnapshot();
  expect(sessions.find(({ id }) => id === "sess-kyoto")).toEqual(receive(GOOD)[0]);
  return sessions.find(({ id }) => id !== "sess-kyoto");
}

describe("hostile input", () => {
  it("shows a frame of 10 MB up to the text limit, and counts the rest", () => {
    const bad = createBad();
    const session = harm((source) => {
      source.push(bad(START));
      source.push(bad({ type: "message_chunk", id: "n", content: "x".repeat(10_000_000) }));
      source.push(bad({ type: "message_chunk", id: "n", content: "y".repeat(10_000_000) }));
    });
    expect(session?.turns[0]?.messages.at(-1)?.mainContent.length).toBeLessThanOrEqual(RECEIVER_LIMITS.maxText);
    expect(session?.turns[0]?.omitted).toBeGreaterThan(0);
    expect(session?.issues).toMatchObject([{ rule: "view_limit" }]);
  });

  it("counts tool calls beyond the limit", () => {
    const bad = createBad();
    const count = SAMPLES.openThings * 2;
    const session = harm((source) => {
      source.push(bad(START));
      for (let i = 0; i < count; i++)
        source.push(bad({ type: "tool_call", call_id: `c${i}`, name: "t", arguments: {} }));
    });
    expect(session?.turns[0]?.messages.at(-1)?.toolCalls.length).toBe(RECEIVER_LIMITS.maxItems);
    expect(session?.turns[0]?.omitted).toBe(count - RECEIVER_LIMITS.maxItems);
    expect(session?.issueCount).toBe(1);
  });

  it.each([
    ["node runs", (i: number) => ({ type: "node_enter", id: "n", node_id: `n${i}` }), "nodes"],
    ["model calls", (i: number) => ({ type: "llm_start", llm_call_id: `l${i}` }), "modelCalls"],
    [
      "checkpoints",
      (i: number) => ({
        type: "checkpoint",
        checkpoint_id: `c${i}`,
        timestamp: "2025-01-01T00:00",
        step: i,
        state: {},
      }),
      "checkpoints",
    ],
    ["unknown events", (i: number) => ({ type: `mystery-${i}` }), "others"],
  ] as const)("counts %s beyond the limit", (_what, make, list) => {
    const bad = createBad();
    const count = RECEIVER_LIMITS.maxItems + 500;
    const session = harm((source) => {
      source.push(bad(START));
      for (let i = 0; i < count; i++) source.push(bad(make(i)));
    });
    expect(session?.turns[0]?.[list].length).toBeLessThanOrEqual(RECEIVER_LIMITS.maxItems);
    expect(session?.turns[0]?.omitted).toBe(count - (session?.turns[0]?.[list].length ?? 0));
  });

  it("rejects JSON that is nested too deeply", () => {
    const bad = createBad();
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    const session = harm((source) => {
      source.push(bad(START));
      source.push(bad({ type: "custom", value: "DEEP" }).replace('"DEEP"', deep));
      source.push(bad({ type: "tool_call_chunk", call_id: "c", name: "t", arguments_delta: deep }));
    });
    expect(session?.state).toMatchObject({ status: "gap", reason: { code: "frame_refused" } });
    expect(session?.turns[0]?.messages.at(-1)?.toolCalls).toMatchObject([{ argumentsInvalid: true }]);
  });

  it.each(["__proto__", "constructor", "toString", "hasOwnProperty", ""])(
    "treats the name %j like any other",
    (name) => {
      const text = (event: object, event_id: number): string =>
        JSON.stringify({ session_id: name, run_id: name, node_id: name, event_id, ts: 1, ...event });
      const session = harm((source) => {
        source.push(text({ type: "run_start", run_id: name, contiguous: true, node_id: undefined }, 1));
        const events = [
          { type: "node_enter", id: name },
          { type: "tool_call_chunk", call_id: name, name, arguments_delta: `{"__proto__":{"polluted":1}}` },
          { type: "tool_call", call_id: name, name, arguments: JSON.parse(`{"__proto__":{"polluted":1}}`) as object },
          { type: "todo_list", list_id: name, items: [{ id: name, text: name, completed: false }] },
          { type: "todo_update", list_id: name, item_id: name, completed: true },
          { type: "tot_expand", candidates: [name], ids: [name], parent: name },
          { type: "got_plan", node_count: 1, edge_count: 1, node_ids: [name], edges: [[name, name]] },
          { type: name === "" ? "odd" : name, anything: 1 },
          { type: "node_exit", id: name, result: "Ok" },
        ];
        for (const [index, event] of events.entries()) source.push(text(event, index + 2));
      });
      expect(session?.todoLists[0]?.items).toEqual([{ id: name, text: name, completed: true }]);
      expect(session?.turns[0]?.messages.at(-1)?.toolCalls[0]?.toolId).toBe(name);
      expect(Object.keys({}).length).toBe(0);
      expect(({} as { polluted?: number }).polluted).toBeUndefined();
    },
  );

  it("notices two senders with the same session name, and keeps the first", () => {
    const receiver = createReceiver();
    const [one, other] = [receiver.open(), receiver.open()];
    for (const text of GOOD) {
      one.push(text);
      other.push(text.replace(/"ts":(\d+)/, (_all, ts: string) => `"ts":${Number(ts) + 5}`).replace("Kyoto", "Osaka"));
    }
    const [session] = receiver.getSnapshot().sessions;
    expect(session?.state).toMatchObject({ status: "gap", reason: { code: "id_conflict" }, verified: false });
    expect(contentOf([session as SessionView])).toEqual(contentOf(receive(GOOD)));
  });

  it("removes only the sessions of a source that has too many", () => {
    const session = harm(
      (source) => {
        for (let i = 0; i < 500; i++)
          source.push(JSON.stringify({ session_id: `s${i}`, run_id: "r", event_id: 1, type: "run_start" }));
      },
      { maxSessions: 10 },
    );
    expect(session).toBeDefined();
  });

  it("reports noise of every kind as an issue", () => {
    const noise = [
      "",
      "null",
      "[]",
      "{",
      "{}",
      "nonsense",
      '{"type":5}',
      '{"type":"message_chunk"}',
      "\u0000",
      "[DONE]",
    ];
    const session = harm((source) => {
      for (const text of noise) source.push(text);
    });
    expect(session?.issueCount).toBe(noise.length);
    expect(session?.turns).toEqual([]);
  });

  it("holds frames after a gap up to the limit, then shows them", () => {
    const bad = createBad();
    const session = harm((source) => {
      source.push(bad(START));
      bad({ type: "lost" });
      for (let i = 0; i < RECEIVER_LIMITS.maxHeldFrames + 10; i++)
        source.push(bad({ type: "message_chunk", id: "n", content: "." }));
    });
    expect(session?.state).toMatchObject({ status: "gap", reason: { code: "held_limit" } });
    expect(session?.turns[0]?.messages.at(-1)?.mainContent.length).toBe(RECEIVER_LIMITS.maxHeldFrames + 10);
  });
});
