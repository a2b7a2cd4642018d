/**
 * What every dialect owes, checked on random valid sessions: what comes back is what the ledger says, through every pair
 * of dialects; the extended form loses nothing; the same records give the same bytes, wherever encoding begins.
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
  type EventRecord,
  isKnownEvent,
  isTerminal,
  type LoomEvent,
  type StampedRecord,
} from "../src/protocol/index.ts";
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

/** Types whose pieces may be cut anew on the way: their text is compared as a whole. */
const TEXTS = new Set(["message_chunk", "reasoning_chunk"]);

/** The events by type, in a form that does not depend on the order of types. */
function gather(events: readonly AnyEvent[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const event of events) {
    const group = groups.get(event.type) ?? [];
    groups.set(event.type, group);
    group.push(TEXTS.has(event.type) ? (event as { content: string }).content : stable(event));
  }
  for (const [type, group] of groups) groups.set(type, TEXTS.has(type) ? [group.join("")] : group.sort());
  for (const type of TEXTS) if (groups.get(type)?.[0] === "") groups.delete(type);
  return groups;
}

function stable(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner !== "object" || inner === null || Array.isArray(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

const MECHANICAL = new Set<DialectName>(["loom", "export"]);

/** What the ledger promises of these records, with the consequences its notes tell of. */
function promise(records: readonly StampedRecord[], dialect: DialectName): AnyEvent[] {
  const { ledger } = DIALECTS[dialect];
  const promised: AnyEvent[] = [];
  let answered = new Map<string, string>();
  let said = "";
  let source = "stream";
  let erred = false;
  const called = new Set<string>();
  const started = new Set<string>();
  const refused = new Set<string>();
  for (const { envelope, event } of records) {
    if (!isKnownEvent(event)) {
      if (MECHANICAL.has(dialect)) promised.push(event);
      continue;
    }
    const row = ledger[event.type];
    let back: LoomEvent | undefined = row.fate === "omitted" ? undefined : row.back(event);
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
      if (event.type === "message_chunk" && event.channel !== "thought")
        speak(answered, envelope.node_id, event.content);
      if (event.type === "reply" && source === "stream") {
        promised.push({ type: "message_chunk", content: unsent(answered, envelope.node_id, event.reply), id: "agent" });
      }
      if (isTerminal(event)) answered = new Map();
      if (event.type === "tool_call") called.add(callKey(event));
      else if (back?.type === "tool_end" && !called.has(callKey(event))) back = { ...back, name: "unknown" };
    }
    if (dialect === "engine" || dialect === "lumine") {
      if (event.type === "message_chunk" && event.channel !== "thought") {
        speak(answered, envelope.node_id, event.content);
        said += event.content;
      }
      if (event.type === "error") erred = true;
      const call = callKey(event);
      if (event.type === "tool_call" && called.has(call)) back = undefined;
      if (event.type === "tool_call") called.add(call);
      if (event.type === "tool_approval_result" && event.decision !== "approved") refused.add(call);
      // A tool that ends without having started is shown to start first; one that was refused is not.
      const shows = event.type === "tool_start" || (event.type === "tool_approval" && dialect === "lumine");
      const opens = event.type === "tool_end" && !started.has(call) && !(dialect === "engine" && refused.has(call));
      if (shows || opens) {
        started.add(call);
        const { call_id, name } = event as { readonly call_id?: string; readonly name: string };
        const id = call_id === undefined ? {} : { call_id };
        if (!called.has(call))
          promised.push({
            type: "tool_call",
            ...id,
            name,
            arguments: event.type === "tool_approval" ? event.arguments : {},
          });
        called.add(call);
        if (opens) promised.push({ type: "tool_start", ...id, name });
      }
      if (event.type === "run_end" && event.status === "error" && !erred && dialect === "lumine") {
        promised.push({
          type: "error",
          message: event.reason ?? "The run failed",
          ...(event.code === undefined ? {} : { code: event.code }),
        });
      }
      if (event.type === "reply") {
        const rest = unsent(answered, envelope.node_id, event.reply);
        if (rest !== "") promised.push({ type: "message_chunk", content: rest, id: "agent" });
        promised.push({ type: "reply", reply: said + rest });
      }
      if (isTerminal(event)) {
        answered = new Map();
        said = "";
        erred = false;
      }
      if (event.type === "reply") continue;
    }
    if (back !== undefined) promised.push(back);
  }
  return promised;
}

function speak(texts: Map<string, string>, node: string | undefined, text: string): void {
  texts.set(node ?? "", (texts.get(node ?? "") ?? "") + text);
}

/** What of a reply was not streamed: all of it, its end, or nothing. `texts` are the answers by node run, in order of speaking. */
function unsent(texts: ReadonlyMap<string, string>, node: string | undefined, reply: string): string {
  const said = node === undefined ? [...texts.values()].join("") : texts.get(node);
  if (said === undefined || (node === undefined && texts.size === 0)) return reply;
  if (node !== undefined && node !== [...texts.keys()].at(-1)) return "";
  if (said.endsWith(reply)) return "";
  return reply.startsWith(said) ? reply.slice(said.length) : reply;
}

function callKey(event: LoomEvent): string {
  const { call_id, name } = event as { readonly call_id?: string; readonly name?: string };
  return call_id ?? name ?? "";
}

/** Types the notes allow a dialect to add or to tell in another way. */
const FREE: { readonly [D in DialectName]?: readonly string[] } = {
  lumine: ["reasoning_end", "tool_approval_result"],
  engine: [],
};

function expectLedger(records: readonly EventRecord[], dialect: DialectName): EventRecord[] {
  const stamped = stampAll(records);
  const arrived = decode(encode(stamped, dialect), dialect);
  const expected = gather(promise(stamped, dialect));
  const actual = gather(arrived.map((record) => record.event));
  for (const type of FREE[dialect] ?? []) {
    expected.delete(type);
    actual.delete(type);
  }
  // Calls that were refused before they started show in engine by their end alone.
  if (dialect === "engine") {
    const hidden = refusedCalls(records);
    const keep = (line: string) => ![...hidden].some((id) => line.includes(`"call_id":"${id}"`));
    for (const groups of [expected, actual]) {
      const calls = groups.get("tool_call")?.filter(keep);
      if (calls !== undefined && calls.length > 0) groups.set("tool_call", calls);
      else groups.delete("tool_call");
    }
  }
  expect(Object.fromEntries(actual)).toEqual(Object.fromEntries(expected));
  return arrived;
}

function refusedCalls(records: readonly EventRecord[]): Set<string> {
  return new Set(
    records.flatMap(({ event }) =>
      event.type === "tool_approval_result" && (event as { decision: string }).decision !== "approved"
        ? [String((event as { call_id?: string }).call_id)]
        : [],
    ),
  );
}

describe("dialects on random sessions", () => {
  test("the sessions themselves break no rule", () => {
    fc.assert(
      fc.property(sessionArbitrary, (records) => {
        const doctor = createStreamCheck(DIALECTS.loom);
        const issues = [...encode(records, "loom").flatMap((text) => doctor.check(text).issues), ...doctor.end()];
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

  test("the strict form loses only run_id on the frames, and gets it back from run_start", () => {
    fc.assert(
      fc.property(sessionArbitrary, (records) => {
        const texts = encode(records, "loom", { strict: true });
        expect(decode(texts, "loom")).toEqual(records);
        const types = new Set(texts.map((text) => (JSON.parse(text) as { type?: string }).type));
        for (const type of ["reasoning_chunk", "run_end", "data", "x_unknown"]) expect(types.has(type)).toBe(false);
      }),
      { numRuns: SAMPLES.sessions },
    );
  });

  test.each(DIALECT_NAMES)("%s gives back what its ledger says, and what it wrote breaks no must-rule", (dialect) => {
    fc.assert(
      fc.property(sessionArbitrary, (records) => {
        expectLedger(records, dialect);
        const doctor = createStreamCheck(DIALECTS[dialect]);
        const issues = [...encode(records, dialect).flatMap((text) => doctor.check(text).issues), ...doctor.end()];
        expect(issues.filter((issue) => issue.level === "error")).toEqual([]);
      }),
      { numRuns: SAMPLES.sessions },
    );
  });

  const pairs = DIALECT_NAMES.flatMap((a) => DIALECT_NAMES.map((b) => [a, b] as const));
  test.each(pairs)("%s then %s: each keeps to its ledger", (a, b) => {
    fc.assert(
      fc.property(sessionArbitrary, (records) => {
        expectLedger(expectLedger(records, a), b);
      }),
      { numRuns: SAMPLES.pairs },
    );
  });

  test.each(DIALECT_NAMES)("%s through the extended form of loom and back: the same frames", (dialect) => {
    fc.assert(
      fc.property(sessionArbitrary, (records) => {
        // Once through the dialect, so that only what it can say is left; then the way there and back must change nothing.
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

  test.each(DIALECT_NAMES)("%s: the same bytes every time, also when encoding begins with a later run", (dialect) => {
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
  });
});
