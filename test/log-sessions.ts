/**
 * Logs and sessions for tests: a table of logs that the tests run against, record builders, and random sessions with
 * cases that our sender rarely writes (records outside of runs, interleaved runs, runs without an ID).
 */
import fc from "fast-check";
import { type Log, MemoryLog, type SessionInfo } from "../src/log/index.ts";
import type { LogLimits } from "../src/log/log-limits.ts";
import { createEntry } from "../src/log/entry.ts";
import { describeHolder } from "../src/log/holder.ts";
import { DIALECT_NAMES } from "../src/dialects/index.ts";
import type { AnyEvent, Json, StampedRecord } from "../src/protocol/index.ts";
import { isTerminal, mayLackRun } from "../src/protocol/record.ts";
import { sessionArbitrary } from "./run-arbitrary.ts";

const timestamp = "2025-01-01T00:00:00.000Z";

export interface LogCase {
  readonly name: string;
  open(limits?: Partial<LogLimits>): Promise<Log>;
}

export const LOGS: readonly LogCase[] = [{ name: "memory", open: async (limits = {}) => new MemoryLog({ limits }) }];

/** Appends records as one writer, in batches of `batchSize`. */
export async function writeRecords(
  log: Log,
  records: readonly StampedRecord[],
  batchSize = 1000,
): Promise<SessionInfo> {
  const sessionId = records[0]?.envelope.session_id ?? "s";
  const firstId = records[0]?.envelope.event_id ?? 1;
  await log.createSession(sessionId, { firstId });
  const lease = await log.acquire(sessionId, { holder: describeHolder(), ttlMs: 60_000 });
  let { lastId } = lease;
  for (let at = 0; at < records.length; at += batchSize) {
    const entries = records.slice(at, at + batchSize).map(createEntry);
    ({ lastId } = await log.append({ sessionId, epoch: lease.epoch, expectedLastId: lastId, entries }));
  }
  await log.release(lease);
  const info = await log.getSession(sessionId);
  if (info === undefined) throw new Error("the session does not exist although it was just written");
  return info;
}

/** Text chunks of one run that does not end. */
export function makeChunks(count: number, { sessionId = "s", after = 0 } = {}): StampedRecord[] {
  return Array.from({ length: count }, (_, index) => ({
    envelope: { session_id: sessionId, run_id: "run-1", event_id: after + index + 1, ts: after + index },
    event: { type: "message_chunk", content: `word ${after + index + 1}`, id: "think" },
  }));
}

/** A complete run: start, one text chunk, end, reply. */
export function makeRun(run_id: string, { sessionId = "s", after = 0, ts = 0 } = {}): StampedRecord[] {
  const events: AnyEvent[] = [
    { type: "run_start", run_id, contiguous: true },
    { type: "message_chunk", content: `of ${run_id}`, id: "think" },
    { type: "run_end", status: "completed", first_event_id: after + 1, last_event_id: after + 4, frame_count: 4 },
    { type: "reply", reply: `of ${run_id}` },
  ];
  return events.map((event, index) => ({
    envelope: { session_id: sessionId, run_id, event_id: after + index + 1, ts: ts + index },
    event,
  }));
}

/**
 * A run of a graph with one node that appends to a list at every step, as the graph runtime stores it: the full state
 * at the start, then deltas. `isOver: false` leaves the run live.
 */
export function makeGraphRun(
  run_id: string,
  { sessionId = "s", after = 0, steps = 3, isOver = true, list = [] as readonly string[], padding = "" } = {},
): StampedRecord[] {
  const step = (n: number): (AnyEvent & { readonly node?: string })[] => [
    { type: "node_enter", id: "work", node: `run-work-${n}` },
    { type: "message_chunk", content: `${n} `, id: "work", node: `run-work-${n}` },
    {
      type: "updates",
      id: "work",
      state: { list: { append: [`item ${n}${padding}`] }, n: { set: n } },
      task: 0,
      node: `run-work-${n}`,
      delta: true,
    },
    { type: "node_exit", id: "work", result: "Ok", node: `run-work-${n}` },
    { type: "values", state: {}, delta: true },
    {
      type: "checkpoint",
      checkpoint_id: `${run_id}-${n}`,
      timestamp,
      step: n,
      state: {},
      thread_id: "thread",
      checkpoint_ns: "",
      next: n < steps ? [{ id: "work" }] : [],
      delta: true,
    },
  ];
  const events: (AnyEvent & { readonly node?: string })[] = [
    { type: "run_start", run_id, contiguous: true },
    {
      type: "checkpoint",
      checkpoint_id: `${run_id}-0`,
      timestamp,
      step: 0,
      state: { list, n: 0 },
      thread_id: "thread",
      checkpoint_ns: "",
      next: [{ id: "work" }],
      delta: false,
    },
    ...Array.from({ length: steps }, (_, index) => step(index + 1)).flat(),
  ];
  const last = after + events.length + 2;
  if (isOver)
    events.push(
      {
        type: "run_end",
        status: "completed",
        first_event_id: after + 1,
        last_event_id: last,
        frame_count: events.length + 2,
      },
      { type: "reply", reply: Array.from({ length: steps }, (_, index) => `${index + 1} `).join("") },
    );
  return events.map(({ node, ...event }, index) => ({
    envelope: {
      session_id: sessionId,
      run_id,
      ...(node === undefined ? {} : { node_id: node }),
      event_id: after + index + 1,
      ts: 1_700_000_000_000 + after + index,
    },
    event: event as AnyEvent,
  }));
}

/** A log with some methods replaced. */
export function overrideLog(log: Log, own: (log: Log) => Partial<Log>): Log {
  const methods = own(log) as { readonly [name: PropertyKey]: unknown };
  return new Proxy(log, {
    get(target, name) {
      if (Object.hasOwn(methods, name)) return methods[name];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

export async function gather<T>(source: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of source) all.push(item);
  return all;
}

const runlessEvent: fc.Arbitrary<AnyEvent> = fc.oneof(
  fc.constant<AnyEvent>({ type: "todo_update", list_id: "list_1", item_id: "i0", completed: true }),
  fc.constant<AnyEvent>({ type: "todo_list", list_id: "own", items: [{ id: "i0", text: "x", completed: false }] }),
  fc.constant<AnyEvent>({ type: "custom", value: { a: 1 } }),
  fc
    .constantFrom(...DIALECT_NAMES.filter((name) => name !== "loom"))
    .map((dialect): AnyEvent => ({ type: "foreign", dialect, frame: { type: "other", n: 1 } })),
);

/** Assigns consecutive event IDs. */
function renumber(records: readonly StampedRecord[], from = 1): StampedRecord[] {
  return records.map(({ envelope, event }, index) => ({
    envelope: { ...envelope, event_id: from + index, ts: 1_700_000_000_000 + index * 3 },
    event,
  }));
}

/** Sessions with records outside of runs between the others. The last run may still be live. */
export const mixedSessionArbitrary: fc.Arbitrary<StampedRecord[]> = fc
  .record({
    records: sessionArbitrary,
    added: fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), runlessEvent), { maxLength: 6 }),
    gap: fc.array(runlessEvent, { maxLength: 3 }),
    kept: fc.double({ min: 0.3, max: 1.7, noNaN: true }),
  })
  .map(({ records, added, gap, kept }) => {
    const own = (event: AnyEvent): StampedRecord => ({ envelope: { session_id: "s", event_id: 0 }, event });
    const all = [...records];
    for (const [where, event] of added) all.splice(Math.floor(where * all.length), 0, own(event));
    // Encoders buffer at the boundary between turns, so put some records there.
    const meeting = all.findIndex(({ event }, index) => index > 0 && event.type === "run_start");
    if (meeting > 0) all.splice(meeting, 0, ...gap.map(own));
    return renumber(all.slice(0, Math.max(1, Math.ceil(kept * all.length))));
  });

/** The same with interleaved runs; the order within a run stays. */
export const interleavedSessionArbitrary: fc.Arbitrary<StampedRecord[]> = fc
  .tuple(mixedSessionArbitrary, fc.array(fc.nat({ max: 3 }), { minLength: 20, maxLength: 20 }))
  .map(([records, choices]) => {
    const groups = [...Map.groupBy(records, ({ envelope }) => envelope.run_id).values()];
    const order = groups.map((group) => [...group]);
    const merged: StampedRecord[] = [];
    for (let step = 0; order.some((group) => group.length > 0); step++) {
      const left = order.filter((group) => group.length > 0);
      const next = left[(choices[step % choices.length] ?? 0) % left.length]?.shift();
      if (next !== undefined) merged.push(next);
    }
    return renumber(merged);
  });

/** The same without run IDs, as in foreign streams. */
export const namelessSessionArbitrary: fc.Arbitrary<StampedRecord[]> = mixedSessionArbitrary.map((records) =>
  records.map(({ envelope: { run_id: _run, ...envelope }, event }) => {
    if (event.type !== "run_start") return { envelope, event };
    const { run_id: _own, ...rest } = event as { readonly run_id?: string; readonly type: "run_start" };
    return { envelope, event: rest };
  }),
);

const patch: fc.Arbitrary<Json> = fc
  .dictionary(
    fc.constantFrom("list", "object", "x", "__proto__"),
    fc.oneof(
      fc.record({ set: fc.jsonValue({ maxDepth: 1 }) }),
      fc.record({ append: fc.array(fc.string({ maxLength: 3 }), { maxLength: 2 }) }),
      fc.record({ merge: fc.dictionary(fc.constantFrom("a", "b", "delta"), fc.nat()) }),
    ),
    { maxKeys: 2 },
  )
  .map((value) => JSON.parse(JSON.stringify(value)) as Json);

const stateEvent: fc.Arbitrary<AnyEvent> = fc
  .record({
    kind: fc.constantFrom("updates", "values", "checkpoint"),
    state: patch,
    task: fc.nat(2),
    isWhole: fc.constantFrom(false, false, false, true),
    ns: fc.constantFrom({}, {}, { checkpoint_ns: "sub" }),
  })
  .map(({ kind, state, task, isWhole, ns }) => {
    const own =
      kind === "updates"
        ? { id: "think", task }
        : kind === "checkpoint"
          ? { checkpoint_id: `c${task}`, timestamp, step: task, thread_id: "thread", checkpoint_ns: "" }
          : {};
    return { type: kind, ...own, state, ...ns, ...(isWhole ? {} : { delta: true }) };
  });

/** Events that look like deltas but are not, and deltas from another writer. */
const oddStateEvent: fc.Arbitrary<AnyEvent> = fc.constantFrom<AnyEvent>(
  { type: "custom", value: { delta: true } },
  { type: "shift", by: 1, delta: true },
  { type: "message_chunk", content: '{"type":"values","delta":true}', id: "think" },
  { type: "values", state: "delta", delta: false },
  { type: "values", delta: true, state: { x: { set: 1 } } },
);

/** Sessions whose runs have states, most of them stored as deltas. */
export const statefulSessionArbitrary: fc.Arbitrary<StampedRecord[]> = fc
  .tuple(
    fc.oneof(mixedSessionArbitrary, interleavedSessionArbitrary),
    fc.array(
      fc.tuple(
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.oneof({ arbitrary: stateEvent, weight: 6 }, { arbitrary: oddStateEvent, weight: 1 }),
      ),
      { maxLength: 24 },
    ),
  )
  .map(([records, added]) => {
    const all = [...records];
    for (const [where, event] of added) {
      const at = Math.floor(where * all.length);
      const before = all[at];
      if (before === undefined || isTerminal(before.event) || before.event.type === "run_end") continue;
      const { node_id: _, ...envelope } = before.envelope;
      all.splice(at + 1, 0, {
        envelope,
        event: mayLackRun(event) || envelope.run_id !== undefined ? event : EMPTY_CUSTOM_EVENT,
      });
    }
    return renumber(all);
  });

const EMPTY_CUSTOM_EVENT: AnyEvent = { type: "custom", value: null };
