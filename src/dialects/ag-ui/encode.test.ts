// Reads what the encoder writes with the rules that clients of AG-UI enforce, and checks approvals, interruptions and
// the form for clients before 1.0.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sessionArbitrary } from "../../../test/run-arbitrary.ts";
import { SAMPLES } from "../../../test/sampling.ts";
import { listVectorFiles, readVector } from "../../../test/vectors.ts";
import type { AnyEvent, JsonObject, StampedRecord } from "../../protocol/index.ts";
import { createStreamCheck } from "../check-stream.ts";
import type { EncoderOptions } from "../dialect.ts";
import { createStamper } from "../stamp.ts";
import { agUi } from "./index.ts";

function encode(records: readonly StampedRecord[], options?: EncoderOptions): readonly string[] {
  const encoder = agUi.createEncoder(options);
  return records.flatMap((record) => encoder.encode(record));
}

/** The rules of the dialect that the frames break. */
function check(frames: readonly string[]): readonly string[] {
  const checker = createStreamCheck(agUi);
  const issues = frames.flatMap((frame) => checker.check(frame).issues);
  return [...issues, ...checker.end()].filter(({ rule }) => rule in agUi.rules).map(({ message }) => message);
}

/** Records of one run; `node` is the ID of the node run. */
function stamp(events: readonly (AnyEvent & { readonly node?: string })[]): readonly StampedRecord[] {
  return events
    .map(({ node, ...event }) => ({
      envelope: { session_id: "s", run_id: "run-1", ...(node === undefined ? {} : { node_id: node }) },
      event: event as AnyEvent,
    }))
    .map(createStamper());
}

function parse(frames: readonly string[]): readonly JsonObject[] {
  return frames.map((frame) => JSON.parse(frame) as JsonObject);
}

function typesOf(frames: readonly string[]): readonly unknown[] {
  return parse(frames).map(({ type }) => type);
}

const START: AnyEvent = { type: "run_start", run_id: "run-1" };
const END: readonly AnyEvent[] = [
  { type: "run_end", status: "completed" },
  { type: "reply", reply: "Done" },
];
const VECTORS = listVectorFiles("runs").map(readVector);

describe("ag-ui: streams that clients accept", () => {
  test.each(VECTORS.map((vector) => [vector.name, vector] as const))("the runs of %s", (_name, { records }) => {
    const runs = Map.groupBy(records.flat().map(createStamper()), ({ envelope, event }) =>
      event.type === "run_start" ? (envelope.run_id ?? (event as { run_id?: string }).run_id) : envelope.run_id,
    );
    for (const run of runs.values())
      for (const legacy of [false, true]) {
        const issues = check(encode(run, { legacy }));
        // A few vectors are cut, or do not start with `run_start`.
        expect(issues.filter((message) => !message.endsWith("did not end"))).toEqual([]);
      }
  });

  test("random sessions", () => {
    fc.assert(
      fc.property(sessionArbitrary, fc.boolean(), (records, legacy) => {
        expect(check(encode(records, { legacy }))).toEqual([]);
      }),
      { numRuns: SAMPLES.sessions },
    );
  });

  test("names steps of the same node differently while both are open", () => {
    const records = stamp([
      START,
      { type: "node_enter", id: "work", node: "a" },
      { type: "node_enter", id: "work", node: "b" },
      { type: "node_exit", id: "work", result: "Ok", node: "a" },
      { type: "node_exit", id: "work", result: "Ok", node: "b" },
      ...END,
    ]);
    const frames = encode(records);
    expect(parse(frames).flatMap(({ stepName }) => stepName ?? [])).toEqual(["work", "work (b)", "work", "work (b)"]);
    expect(check(frames)).toEqual([]);
  });

  test("tells a cancelled run to clients before 1.0 as an error", () => {
    const records = stamp([
      START,
      { type: "message_chunk", content: "Once", id: "agent" },
      { type: "run_end", status: "cancelled", reason: "stop" },
    ]);
    const [modern, legacy] = [false, true].map((old) => parse(encode(records, { legacy: old })));
    expect(modern?.at(-1)).toMatchObject({ type: "RUN_FINISHED", outcome: { type: "cancelled" } });
    expect(legacy?.at(-1)).toEqual({ type: "RUN_ERROR", message: "stop", code: "cancelled" });
    expect(legacy?.[0]).toEqual({ type: "RUN_STARTED", threadId: "s", runId: "run-1" });
    for (const old of [false, true]) {
      const decoder = agUi.createDecoder();
      const events = encode(records, { legacy: old }).flatMap((text) => decoder.decode(text).records);
      expect(events.at(-1)?.event).toEqual({ type: "run_end", status: "cancelled", reason: "stop" });
    }
  });
});

describe("ag-ui: approvals", () => {
  const call = (call_id: string): AnyEvent => ({ type: "tool_call", call_id, name: "rm", arguments: { id: call_id } });
  const ask = (call_id: string): AnyEvent => ({
    type: "tool_approval",
    call_id,
    name: "rm",
    arguments: { id: call_id },
    expires_at: 1_763_203_600_000,
  });
  const answer = (call_id: string): AnyEvent => ({
    type: "tool_approval_result",
    call_id,
    name: "rm",
    decision: "approved",
  });

  function interruptsOf(frames: readonly string[]): unknown {
    const { outcome } = parse(frames).at(-1) as { readonly outcome?: { readonly interrupts?: JsonObject[] } };
    return outcome?.interrupts?.map(({ id }) => id);
  }

  test("end the run for the client, with all open ones, wherever the stream stops", () => {
    const records = stamp([START, call("a"), call("b"), ask("a"), ask("b"), answer("a"), answer("b")]);
    const upTo = (count: number) => interruptsOf(encode(records.slice(0, count)));
    expect([3, 4, 5, 6, 7].map(upTo)).toEqual([undefined, ["a"], ["a", "b"], ["b"], undefined]);
    expect(check(encode(records.slice(0, 6)))).toEqual([]);
  });

  test("have the metadata that clients look for", () => {
    const frame = parse(encode(stamp([START, call("a"), ask("a")]))).at(-1);
    expect(frame).toMatchObject({
      outcome: {
        interrupts: [
          {
            id: "a",
            toolCallId: "a",
            reason: "approval_required",
            expiresAt: "2025-11-15T10:46:40.000Z",
            metadata: { kind: "approval", toolName: "rm", input: { id: "a" } },
          },
        ],
      },
    });
  });

  test("do not split a message that another node run writes meanwhile", () => {
    const piece = (content: string) => ({ type: "message_chunk", content, id: "n", node: "n" });
    const frames = encode(stamp([START, call("a"), piece("O"), ask("a"), piece("n"), piece("e"), answer("a"), ...END]));
    const ids = parse(frames).flatMap(({ type, messageId }) => (type === "TEXT_MESSAGE_CONTENT" ? messageId : []));
    expect(new Set(ids.slice(0, 3)).size).toBe(1);
    expect(check(frames)).toEqual([]);
  });

  test("are not sent again for a record without a frame", () => {
    const records = stamp([START, call("a"), ask("a"), { type: "updates", id: "n", state: {} }]);
    expect(encode(records)).toEqual(encode(records.slice(0, 3)));
  });
});

describe("ag-ui: interrupted node runs", () => {
  const chunk = (delta: string, node: string) => ({
    type: "tool_call_chunk",
    call_id: "c",
    name: "add",
    arguments_delta: delta,
    node,
  });
  const frames = encode(
    stamp([
      START,
      { type: "node_enter", id: "think", node: "t1" },
      { type: "message_chunk", content: "The su", id: "think", node: "t1" },
      chunk('{"a"', "t1"),
      { type: "node_exit", id: "think", result: { Err: "interrupted" }, node: "t1" },
      { type: "node_enter", id: "think", supersedes: "t1", attempt: 2, node: "t2" },
      chunk('{"a": 1}', "t2"),
      { type: "tool_call", call_id: "c", name: "add", arguments: { a: 1 }, node: "t2" },
      { type: "tool_end", call_id: "c", name: "add", result: "1", is_error: false, node: "t2" },
      { type: "node_exit", id: "think", result: "Ok", node: "t2" },
      ...END,
    ]),
  );

  test("name the messages that no longer count", () => {
    expect(check(frames)).toEqual([]);
    expect(parse(frames)).toContainEqual({
      type: "CUSTOM",
      name: "loom.superseded",
      value: { node_id: "t1", messageIds: ["message-3"] },
    });
  });

  test("end a cut call with a result, and make it again under another ID", () => {
    const calls = parse(frames).filter(({ toolCallId }) => toolCallId !== undefined);
    const args = (id: string) => calls.flatMap(({ toolCallId, delta }) => (toolCallId === id ? (delta ?? []) : []));
    expect([args("c"), args("c-5")]).toEqual([['{"a"'], ['{"a": 1}']]);
    const results = calls.flatMap(({ type, toolCallId }) => (type === "TOOL_CALL_RESULT" ? toolCallId : []));
    expect(results).toEqual(["c", "c-5"]);
  });

  test("are not part of the reply", () => {
    const decoder = agUi.createDecoder();
    const records = frames.flatMap((text) => decoder.decode(text).records);
    expect(records.at(-1)?.event).toEqual({ type: "reply", reply: "Done" });
    expect(records.filter(({ event }) => event.type === "tool_call")).toHaveLength(1);
  });
});

test("ag-ui: corrects streamed arguments that differ from those of the call", () => {
  const frames = encode(
    stamp([
      START,
      { type: "tool_call_chunk", call_id: "c", name: "add", arguments_delta: '{"a":' },
      { type: "tool_call", call_id: "c", name: "add", arguments: { a: 2 } },
      ...END,
    ]),
  );
  expect(typesOf(frames).slice(1, 4)).toEqual(["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END"]);
  expect(parse(frames)[3]?.["metadata"]).toEqual({ loom: { arguments: '{"a":2}' } });
});

test("ag-ui: sends no frame that clients refuse because of a kept field", () => {
  const kept = (frame: JsonObject): AnyEvent => ({ type: "foreign", dialect: "ag-ui", frame });
  const patch = { type: "STATE_DELTA", delta: [{ op: "add", path: "/a", value: 1 }] };
  const frames = encode(
    stamp([
      START,
      kept(patch),
      kept({ ...patch, metadata: null }),
      kept({ type: "STATE_DELTA", delta: [{ op: "add", path: "/a" }] }),
      kept({ type: "TEXT_MESSAGE_END", messageId: "m" }),
      ...END,
    ]),
  );
  expect(typesOf(frames).slice(1, 5)).toEqual(["STATE_DELTA", "RAW", "RAW", "RAW"]);
});

test("ag-ui: calls of an answer are in its message, and the end has the sum of the tokens", () => {
  const call = (call_id: string, node: string) => ({ type: "tool_call", call_id, name: "t", arguments: {}, node });
  const usage = { type: "usage", prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
  const frames = parse(
    encode(
      stamp([
        START,
        { type: "message_chunk", content: "I see", id: "think", node: "a" },
        call("c1", "a"),
        call("c2", "a"),
        { type: "llm_start", llm_call_id: "l", node: "a" },
        call("c3", "a"),
        call("c4", "a"),
        usage,
        usage,
        ...END,
      ]),
    ),
  );
  const calls = frames.filter(({ type }) => type === "TOOL_CALL_START");
  expect(calls.map(({ parentMessageId }) => parentMessageId)).toEqual(["message-2", "message-2", undefined, "c3"]);
  expect(frames.at(-1)).toMatchObject({ usage: [{ inputTokens: 6, outputTokens: 4, totalTokens: 10 }] });
});

test.each([false, true])(
  "ag-ui: a run that waits for a call of the client ends until the result (legacy: %s)",
  (legacy) => {
    const call = { call_id: "c1", name: "ask" };
    const frames = encode(
      stamp([
        START,
        { type: "tool_call", ...call, arguments: { q: 1 } },
        { type: "tool_start", ...call, executor: "client" },
        { type: "tool_end", ...call, result: "blue", is_error: false },
        ...END,
      ]),
      { legacy },
    );
    const ends = parse(frames).filter(({ type }) => type === "RUN_FINISHED");
    const outcome = { type: "success", ...(legacy ? {} : { pendingToolCallIds: ["c1"] }) };
    expect(ends[0]).toMatchObject({
      outcome,
      metadata: { loom: { pending: [{ id: "c1", name: "ask", input: { q: 1 } }] } },
    });
    expect([ends.length, check(frames)]).toEqual([2, []]);
    const decoder = agUi.createDecoder();
    const types = frames.flatMap((frame) => decoder.decode(frame).records.map(({ event }) => event.type));
    expect(types.filter((type) => type === "run_start" || type === "run_end")).toEqual(["run_start", "run_end"]);
  },
);
