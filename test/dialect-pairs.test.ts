/**
 * Properties of every dialect on random valid sessions: decoding gives what the ledger states, through every pair of
 * dialects; the extended form loses nothing; the same records give the same bytes, wherever encoding starts.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  createStamper,
  createStreamCheck,
  DIALECT_NAMES,
  DIALECTS,
  type DialectName,
  type EncoderOptions,
} from "../src/dialects/index.ts";
import {
  type AnyEvent,
  type EventOf,
  type EventRecord,
  isKnownEvent,
  type LoomEvent,
  type StampedRecord,
} from "../src/protocol/index.ts";
import { isAnswerChannel, isTerminal, mayLackRun, type OpaqueEvent } from "../src/protocol/record.ts";
import { toStrictEvent } from "../src/dialects/strict-event.ts";
import { readBack } from "./read-back.ts";
import { sessionArbitrary } from "./run-arbitrary.ts";
import { SAMPLES } from "./sampling.ts";

function encode(records: readonly StampedRecord[], dialect: DialectName, options?: EncoderOptions): string[] {
  const encoder = DIALECTS[dialect].createEncoder(options);
  return records.flatMap((record) => encoder.encode(record));
}

function decode(texts: readonly string[], dialect: DialectName): EventRecord[] {
  const decoder = DIALECTS[dialect].createDecoder();
  return texts.flatMap((text) => {
    const { records, issues } = decoder.decode(text);
    expect(issues.filter((issue) => issue.level === "error")).toEqual([]);
    return records;
  });
}

function stampAll(records: readonly EventRecord[]): StampedRecord[] {
  return records.map(createStamper());
}

/** Types whose text may be split differently; their text is compared as a whole. */
const TEXTS = new Set(["message_chunk", "reasoning_chunk"]);

/** Events grouped by type, independent of the order of types. */
function gather(events: readonly AnyEvent[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const event of events) {
    const group = groups.get(event.type) ?? [];
    groups.set(event.type, group);
    group.push(TEXTS.has(event.type) ? (event as { content: string }).content : stable(event));
  }
  for (const [type, group] of groups) groups.set(type, TEXTS.has(type) ? [group.join("")] : group.sort());
  // Some dialects send a blank line between thoughts.
  const thinking = groups.get("reasoning_chunk")?.map((text) => text.replaceAll("\n\n", ""));
  if (thinking !== undefined) groups.set("reasoning_chunk", thinking);
  for (const type of TEXTS) if (groups.get(type)?.[0] === "") groups.delete(type);
  return groups;
}

function stable(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner !== "object" || inner === null || Array.isArray(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** Events that these records decode to according to the ledger, including the effects that its notes describe. */
function computeExpectedEvents(records: readonly StampedRecord[], dialect: DialectName): AnyEvent[] {
  const { carriesUnknown } = DIALECTS[dialect];
  const expected: AnyEvent[] = [];
  let answered = new Map<string, string>();
  let streamed = "";
  let source = "stream";
  let hasError = false;
  let isErrorLast = false;
  let toolFailure: EventOf<"error"> | undefined;
  const called = new Set<string>();
  const started = new Set<string>();
  const rejected = new Set<string>();
  let isUnnamed = false;
  const lists = new Map<string, EventOf<"todo_list">>();
  for (const { envelope, event } of records) {
    if (!isKnownEvent(event)) {
      if (carriesUnknown) expected.push(event);
      continue;
    }
    let back = readBack(dialect, event);
    if (
      event.type === "run_start" &&
      dialect === "engine" &&
      event.request_id === undefined &&
      event.run_id === undefined
    ) {
      const made = `req-${envelope.event_id}`;
      back = { type: "run_start", run_id: made, request_id: made };
    }
    if (dialect === "stream-event") {
      if (event.type === "run_start") source = event.source ?? "stream";
      if (event.type === "message_chunk" && isAnswerChannel(event.channel))
        appendText(answered, envelope.node_id, event.content);
      if (event.type === "reply" && source === "stream") {
        expected.push({
          type: "message_chunk",
          content: findUnsent(answered, envelope.node_id, event.reply),
          id: "agent",
        });
      }
      if (isTerminal(event)) answered = new Map();
      if (event.type === "tool_call") called.add(callKey(event));
      else if (back?.type === "tool_end" && !called.has(callKey(event))) back = { ...back, name: "unknown" };
    }
    if (dialect === "ag-ui" && event.type === "run_start" && (event.run_id ?? envelope.run_id) === undefined)
      back = { type: "run_start", run_id: `run-${envelope.event_id}` };
    if (dialect === "ai-sdk" || dialect === "ag-ui") {
      if (event.type === "message_chunk" && isAnswerChannel(event.channel)) {
        appendText(answered, envelope.node_id, event.content);
        streamed += event.content;
      }
      // A change is sent as the whole list, if the run has it.
      if (event.type === "todo_list") lists.set(`${envelope.run_id ?? ""} ${event.list_id}`, event);
      const key = event.type === "todo_update" ? `${envelope.run_id ?? ""} ${event.list_id}` : "";
      const list = lists.get(key);
      if (dialect === "ai-sdk" && event.type === "todo_update" && list !== undefined) {
        const items = list.items.map((item) =>
          item.id === event.item_id
            ? { ...item, text: event.text ?? item.text, completed: event.completed ?? item.completed }
            : item,
        );
        lists.set(key, { ...list, items });
        back = { ...list, items };
      }
      if (event.type === "run_start") isUnnamed = envelope.run_id === undefined;
      // A record outside a run has no message.
      if (mayLackRun(event) && envelope.run_id === undefined && !isUnnamed) back = undefined;
      // What belongs to a call that was not sent is encoded with the call.
      const { call_id = "", name = "" } = event as { readonly call_id?: string; readonly name?: string };
      if (/^tool_(approval|output|progress|end)$/.test(event.type) && !called.has(call_id)) {
        const given = event.type === "tool_approval" ? event.arguments : {};
        expected.push({ type: "tool_call", call_id, name, arguments: given });
      }
      // In `engine`, the call follows its approval, which has sent it.
      if (event.type === "tool_call" && called.has(call_id)) back = undefined;
      if (event.type.startsWith("tool_") && event.type !== "tool_call_chunk" && event.type !== "tool_start")
        called.add(call_id);
      if (event.type === "reply") {
        const rest = findUnsent(answered, envelope.node_id, event.reply);
        if (rest !== "") expected.push({ type: "message_chunk", content: rest, id: "agent" });
        if (dialect === "ai-sdk") back = { type: "reply", reply: streamed + rest };
      }
      if (isTerminal(event)) {
        answered = new Map();
        streamed = "";
        isUnnamed = false;
      }
    }
    if (dialect === "openai-chat") {
      if (event.type === "message_chunk" && isAnswerChannel(event.channel)) {
        appendText(answered, envelope.node_id, event.content);
        streamed += event.content;
      }
      if (event.type === "run_start") isUnnamed = envelope.run_id === undefined;
      if (event.type === "run_start" && envelope.run_id === undefined && event.run_id === undefined)
        back = { type: "run_start", run_id: `chatcmpl_${envelope.event_id}` };
      // A record outside a run has no message.
      if (mayLackRun(event) && envelope.run_id === undefined && !isUnnamed) back = undefined;
      if (event.type === "reply") {
        const rest = findUnsent(answered, envelope.node_id, event.reply);
        if (rest !== "") expected.push({ type: "message_chunk", content: rest, id: "agent" });
        back = { type: "reply", reply: streamed + rest };
      }
      if (isTerminal(event)) {
        answered = new Map();
        streamed = "";
        isUnnamed = false;
      }
    }
    if (dialect === "openai-responses") {
      if (event.type === "message_chunk" && isAnswerChannel(event.channel)) {
        appendText(answered, envelope.node_id, event.content);
        streamed += event.content;
      }
      if (event.type === "run_start") isUnnamed = envelope.run_id === undefined;
      if (event.type === "run_start" && envelope.run_id === undefined && event.run_id === undefined)
        back = { type: "run_start", run_id: `resp_${envelope.event_id}` };
      // A record outside a run has no response.
      if (mayLackRun(event) && envelope.run_id === undefined && !isUnnamed) back = undefined;
      // An approval or a result of a call that was not sent is read as the call, too.
      if ((event.type === "tool_approval" || event.type === "tool_end") && !called.has(callKey(event))) {
        const given = event.type === "tool_approval" ? event.arguments : {};
        expected.push({ type: "tool_call", call_id: callKey(event), name: event.name, arguments: given });
      }
      if (event.type === "tool_call" && called.has(callKey(event))) back = undefined;
      if (/^tool_(call|approval)$/.test(event.type)) called.add(callKey(event));
      if (event.type === "tool_end") called.delete(callKey(event));
      if (event.type === "reply") {
        const rest = findUnsent(answered, envelope.node_id, event.reply);
        if (rest !== "") expected.push({ type: "message_chunk", content: rest, id: "agent" });
        back = { type: "reply", reply: streamed + rest };
      }
      if (isTerminal(event)) {
        answered = new Map();
        streamed = "";
        isUnnamed = false;
      }
    }
    if (dialect === "engine" || dialect === "lumine") {
      if (event.type === "message_chunk" && isAnswerChannel(event.channel)) {
        appendText(answered, envelope.node_id, event.content);
        streamed += event.content;
      }
      if (event.type === "error") hasError ||= back !== undefined;
      if (event.type === "error" && back === undefined) toolFailure = event;
      const hasFrame = back !== undefined && !/^(tool_call|tool_approval_result|run_end)$/.test(event.type);
      if (hasFrame || event.type === "reasoning_end") isErrorLast = event.type === "error";
      // A table is separated from earlier text by a blank line.
      if (event.type === "data" && back?.type === "message_chunk") {
        back = { ...back, content: `${streamed === "" ? "" : "\n\n"}${back.content}` };
        streamed += back.content;
      }
      const call = callKey(event);
      if (event.type === "tool_call" && called.has(call)) back = undefined;
      if (event.type === "tool_call") called.add(call);
      if (event.type === "tool_approval_result" && event.decision !== "approved") rejected.add(call);
      // A tool that ends without a start is encoded with a start; that of a rejected call is read as the call only.
      const shows = event.type === "tool_start" || (event.type === "tool_approval" && dialect === "lumine");
      const opens = event.type === "tool_end" && !started.has(call);
      const isRefused = rejected.has(call);
      if (shows || opens) {
        if (event.type !== "tool_approval") started.add(call);
        const { call_id, name } = event as { readonly call_id?: string; readonly name: string };
        const id = call_id === undefined ? {} : { call_id };
        if (!called.has(call))
          expected.push({
            type: "tool_call",
            ...id,
            name,
            arguments: event.type === "tool_approval" ? event.arguments : {},
          });
        called.add(call);
        if (opens && !isRefused) expected.push({ type: "tool_start", ...id, name });
      }
      if (event.type === "run_end" && event.status === "error" && !(hasError && isErrorLast) && dialect === "lumine") {
        const code = event.code ?? toolFailure?.code ?? "run_failed";
        expected.push({
          type: "error",
          message: event.reason ?? toolFailure?.message ?? "The run failed",
          code,
        });
      }
      if (event.type === "reply") {
        const rest = findUnsent(answered, envelope.node_id, event.reply);
        if (rest !== "") expected.push({ type: "message_chunk", content: rest, id: "agent" });
        expected.push({ type: "reply", reply: streamed + rest });
      }
      if (isTerminal(event)) {
        answered = new Map();
        streamed = "";
        hasError = false;
        isErrorLast = false;
        toolFailure = undefined;
      }
      if (event.type === "reply") continue;
    }
    if (back !== undefined) expected.push(back);
  }
  return expected;
}

function appendText(texts: Map<string, string>, node: string | undefined, text: string): void {
  texts.set(node ?? "", (texts.get(node ?? "") ?? "") + text);
}

/**
 * The part of a reply that was not streamed: all of it, its end, or nothing. `texts` has the streamed answer of each
 * node run, in order of first output.
 */
function findUnsent(texts: ReadonlyMap<string, string>, node: string | undefined, reply: string): string {
  const streamed = node === undefined ? [...texts.values()].join("") : texts.get(node);
  if (streamed === undefined || (node === undefined && texts.size === 0)) return reply;
  if (node !== undefined && node !== [...texts.keys()].at(-1)) return "";
  if (streamed.endsWith(reply)) return "";
  return reply.startsWith(streamed) ? reply.slice(streamed.length) : reply;
}

function callKey(event: LoomEvent): string {
  const { call_id, name } = event as { readonly call_id?: string; readonly name?: string };
  return call_id ?? name ?? "";
}

/** Types that a dialect may add or express differently, according to its notes. */
const UNCHECKED_TYPES: { readonly [D in DialectName]?: readonly string[] } = {
  lumine: ["reasoning_end", "tool_approval_result"],
  engine: [],
  // A part ends when another follows, a call starts with its first output, and the start of its arguments is a piece.
  "ai-sdk": ["reasoning_end", "tool_start", "tool_call_chunk"],
  "ag-ui": ["reasoning_end", "tool_start", "tool_call_chunk"],
  "openai-responses": ["reasoning_end", "tool_start", "tool_call_chunk"],
};

function expectLedger(records: readonly EventRecord[], dialect: DialectName): EventRecord[] {
  const stamped = stampAll(WRITES_TEXTS.has(dialect) ? records.map(withoutMessage) : records);
  const arrived = decode(encode(stamped, dialect), dialect);
  // In an agent's run, `engine` adds a description and a duration.
  const shown = (event: AnyEvent): AnyEvent => {
    const { description: _text, duration_ms: _duration, ...rest } = event as OpaqueEvent;
    return dialect === "engine" && /^tool_(call|end)$/.test(event.type) ? rest : event;
  };
  const expected = gather(computeExpectedEvents(stamped, dialect).map(shown));
  const actual = gather(arrived.map((record) => shown(record.event)));
  for (const type of UNCHECKED_TYPES[dialect] ?? []) {
    expected.delete(type);
    actual.delete(type);
  }
  expect(Object.fromEntries(actual)).toEqual(Object.fromEntries(expected));
  return arrived;
}

const WRITES_TEXTS: ReadonlySet<DialectName> = new Set(["engine", "lumine"]);

/** `engine` and `lumine` write texts in the language of the message. The tests of the dialect check them; here they are English. */
function withoutMessage(record: EventRecord): EventRecord {
  const { message: _message, ...event } = record.event as EventOf<"run_start">;
  return event.type === "run_start" ? { ...record, event } : record;
}

describe("dialects on random sessions", () => {
  test("generated sessions violate no rule", () => {
    fc.assert(
      fc.property(sessionArbitrary, (records) => {
        const checker = createStreamCheck(DIALECTS.loom);
        const issues = [...encode(records, "loom").flatMap((text) => checker.check(text).issues), ...checker.end()];
        expect(issues).toEqual([]);
      }),
      { numRuns: SAMPLES.sessions },
    );
  });

  test("the extended form of loom loses nothing", () => {
    fc.assert(
      fc.property(sessionArbitrary, (records) => {
        expect(decode(encode(records, "loom"), "loom")).toEqual(records);
      }),
      { numRuns: SAMPLES.sessions },
    );
  });

  test("the strict form of loom keeps the fields of 001 and whole extension types; run_start restores run_id", () => {
    fc.assert(
      fc.property(sessionArbitrary, (records) => {
        const texts = encode(records, "loom", { strict: true });
        const expected = records.map(({ envelope: { ts: _ts, ...envelope }, event }) => {
          // Its `node_id` is that of the payload.
          if (event.type === "got_expand") delete (envelope as { node_id?: string }).node_id;
          return { envelope, event: toStrictEvent(event, envelope.session_id) };
        });
        expect(decode(texts, "loom")).toEqual(expected);
        const types = new Set(texts.map((text) => (JSON.parse(text) as { type?: string }).type));
        for (const type of ["reasoning_chunk", "run_end", "data", "x_unknown"]) expect(types.has(type)).toBe(false);
      }),
      { numRuns: SAMPLES.sessions },
    );
  });

  test.each(DIALECT_NAMES)("%s decodes to what its ledger states and violates no error-level rule", (dialect) => {
    fc.assert(
      fc.property(sessionArbitrary, (records) => {
        expectLedger(records, dialect);
        const checker = createStreamCheck(DIALECTS[dialect]);
        const issues = [...encode(records, dialect).flatMap((text) => checker.check(text).issues), ...checker.end()];
        expect(issues.filter((issue) => issue.level === "error")).toEqual([]);
      }),
      { numRuns: SAMPLES.sessions },
    );
  });

  const pairs = DIALECT_NAMES.flatMap((a) => DIALECT_NAMES.map((b) => [a, b] as const));
  test.each(pairs)("%s then %s: both follow their ledgers", (a, b) => {
    fc.assert(
      fc.property(sessionArbitrary, (records) => {
        expectLedger(expectLedger(records, a), b);
      }),
      { numRuns: SAMPLES.pairs },
    );
  });

  test.each(DIALECT_NAMES)("%s to extended loom and back gives the same frames", (dialect) => {
    fc.assert(
      fc.property(sessionArbitrary, (records) => {
        // The first pass drops what the dialect cannot express; after it, the round trip must not change anything.
        const frames = encode(stampAll(decode(encode(records, dialect, { debug: true }), dialect)), dialect, {
          debug: true,
        });
        const through = decode(encode(stampAll(decode(frames, dialect)), "loom"), "loom");
        const again = encode(stampAll(through), dialect, { debug: true });
        expect(again.map((text) => stable(JSON.parse(text)))).toEqual(frames.map((text) => stable(JSON.parse(text))));
      }),
      { numRuns: SAMPLES.sessions },
    );
  });

  test.each(DIALECT_NAMES)(
    "%s gives the same bytes every time, also when encoding starts at a later run",
    (dialect) => {
      fc.assert(
        fc.property(sessionArbitrary, (records) => {
          const whole = encode(records, dialect);
          expect(encode(records, dialect)).toEqual(whole);
          const second = records.findIndex((record) => record.envelope.run_id === "run-2");
          if (second < 0) return;
          const tail = encode(records.slice(second), dialect);
          expect(whole.slice(whole.length - tail.length)).toEqual(tail);
        }),
        { numRuns: SAMPLES.sessions },
      );
    },
  );
});
