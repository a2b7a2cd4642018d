/** The steps of a random walk, and the batches they append. */
import fc from "fast-check";
import type { Append, CommandKind, CommandOutcome, Lease } from "../../../src/log/log.ts";
import type { RetentionPolicy } from "../../../src/log/retention-policy.ts";
import { lastIdOf, type ModelSession, pendingOf, runsOf } from "./log-model.ts";
import { type RecordDraft, drafts, makeEntries } from "./log-fixture.ts";

export const SESSIONS: readonly string[] = ["a", "b", "c"];
export const OWNERS: readonly string[] = ["local", "o1", "o2"];
export const HOLDERS: readonly string[] = ["h1", "h2", "h3"];

const OUTCOMES: readonly CommandOutcome[] = [
  { code: "done" },
  { code: "done", eventId: 1 },
  { code: "unknown_call", details: { a: [1] } },
];

const DRAFTS = [
  "start",
  "chunk",
  "long",
  "completed",
  "reply",
  "error",
  "cancelled",
  "checkpoint",
  "todo",
  "note",
] as const;

/** Kinds of invalid batches. */
const FAULTS = ["epoch", "behind", "ahead", "foreign", "jump", "large", "many", "unknown", "twice"] as const;
export type BatchFault = (typeof FAULTS)[number];

interface WalkWrite {
  readonly session: number;
  readonly items: readonly { readonly kind: (typeof DRAFTS)[number]; readonly pick: number }[];
  readonly settle: number;
  readonly outcome: number;
  readonly fault: BatchFault | undefined;
}

type WalkAction =
  | {
      readonly do: "create";
      readonly title: string | undefined;
      readonly firstId: number;
      readonly owner: string | undefined;
      readonly rootId: string | undefined;
    }
  | { readonly do: "rename"; readonly title: string }
  | { readonly do: "delete" }
  | { readonly do: "reopen" }
  | { readonly do: "acquire"; readonly holder: number; readonly ttlMs: number; readonly takeover: boolean }
  | { readonly do: "renew"; readonly pick: number; readonly ttlMs: number }
  | { readonly do: "release"; readonly pick: number }
  | ({ readonly do: "write" } & Omit<WalkWrite, "session">)
  | { readonly do: "burst"; readonly writes: readonly WalkWrite[] }
  | { readonly do: "retry"; readonly pick: number; readonly change: ((batch: Append) => Append) | undefined }
  | {
      readonly do: "submit";
      readonly id: string;
      readonly kind: CommandKind;
      readonly body: number;
      readonly maxQueued: number | undefined;
      readonly onlyIfIdle: boolean;
      readonly interrupts: boolean;
    }
  | { readonly do: "prune"; readonly policy: RetentionPolicy; readonly age: number | undefined }
  | {
      readonly do: "read";
      readonly at: number;
      readonly odd: number | undefined;
      readonly limit: number;
      readonly maxBytes: number;
    }
  | { readonly do: "advance"; readonly ms: number };

export type WalkStep = WalkAction & { readonly session: number; readonly via: 0 | 1 };

/** Changes that turn an appended batch into a different one. */
const CHANGES: { readonly [about: string]: (batch: Append) => Append } = {
  "another character in the last record": (batch) => ({
    ...batch,
    entries: batch.entries.map((entry, index) =>
      index < batch.entries.length - 1 ? entry : { ...entry, text: entry.text.replace(/.(?=[^,]*$)/, "~") },
    ),
  }),
  "one record less": (batch) => ({ ...batch, entries: batch.entries.slice(0, -1) }),
  "one record more": (batch) => {
    const after = batch.expectedLastId + batch.entries.length;
    return { ...batch, entries: [...batch.entries, ...makeEntries(batch.sessionId, after, [drafts.note("more")])] };
  },
  "another outcome": (batch) => ({
    ...batch,
    settle: (batch.settle ?? []).map(({ commandId }) => ({ commandId, outcome: { code: "cancelled" } })),
  }),
  "one more outcome": (batch) => ({
    ...batch,
    settle: [...(batch.settle ?? []), { commandId: "c1", outcome: { code: "done" } }],
  }),
};

const small = fc.nat({ max: 30 });
const ttl = fc.constantFrom(0, 10, 1000);
const maybe = <T>(value: fc.Arbitrary<T>, freq: number): fc.Arbitrary<T | undefined> =>
  fc.option(value, { nil: undefined, freq });

const write = {
  items: fc.array(fc.record({ kind: fc.constantFrom(...DRAFTS), pick: small }), { maxLength: 5, size: "max" }),
  settle: fc.constantFrom(0, 0, 0, 1, 2),
  outcome: fc.nat({ max: OUTCOMES.length - 1 }),
  fault: fc.oneof(
    { arbitrary: fc.constant(undefined), weight: 3 },
    { arbitrary: fc.constantFrom(...FAULTS), weight: 1 },
  ),
};
const session = fc.nat({ max: SESSIONS.length - 1 });
const bytes = fc.constantFrom(0, 1, 200, 500, 1000, 3000);

function weigh<T extends WalkAction>(weight: number, fields: { [K in keyof T]: fc.Arbitrary<T[K]> }) {
  const place = fc.record({ session, via: fc.constantFrom(0 as const, 1 as const) });
  const arbitrary = fc.tuple(fc.record(fields), place).map(([kind, where]) => ({ ...kind, ...where }) as WalkStep);
  return { arbitrary, weight };
}

type ActionOf<D extends WalkAction["do"]> = Extract<WalkAction, { readonly do: D }>;

export const operations: fc.Arbitrary<WalkStep> = fc.oneof(
  weigh<ActionOf<"write">>(12, { do: fc.constant("write"), ...write }),
  weigh<ActionOf<"burst">>(3, {
    do: fc.constant("burst"),
    writes: fc.array(fc.record({ session, ...write }), { minLength: 2, maxLength: 4 }),
  }),
  weigh<ActionOf<"retry">>(4, {
    do: fc.constant("retry"),
    pick: fc.nat({ max: 4 }),
    change: maybe(fc.constantFrom(...Object.values(CHANGES)), 1),
  }),
  weigh<ActionOf<"submit">>(5, {
    do: fc.constant("submit"),
    id: fc.constantFrom("c1", "c2", "c3", "c4", "c5"),
    kind: fc.constantFrom("cancel" as const, "approve" as const, "enqueue" as const, "enqueue" as const),
    body: fc.constantFrom(0, 0, 0, 1),
    maxQueued: fc.constantFrom(undefined, 0, 1, 2),
    onlyIfIdle: fc.boolean(),
    interrupts: fc.constantFrom(false, false, true),
  }),
  weigh<ActionOf<"read">>(3, {
    do: fc.constant("read"),
    at: small,
    odd: maybe(fc.constantFrom(-1, 0.5, Number.NaN, 2 ** 53, Number.POSITIVE_INFINITY), 5),
    limit: fc.constantFrom(0, 1, 2, 3, 100),
    maxBytes: bytes,
  }),
  weigh<ActionOf<"prune">>(3, {
    do: fc.constant("prune"),
    age: maybe(fc.constantFrom(0, 30, 100), 2),
    policy: fc.oneof(
      fc.constant({}),
      bytes.map((maxSessionBytes) => ({ maxSessionBytes })),
      bytes.map((maxBytes) => ({ maxBytes })),
      fc.record({ maxSessionBytes: bytes, maxBytes: bytes }),
    ),
  }),
  weigh<ActionOf<"acquire">>(3, {
    do: fc.constant("acquire"),
    holder: fc.nat({ max: HOLDERS.length - 1 }),
    ttlMs: ttl,
    takeover: fc.boolean(),
  }),
  weigh<ActionOf<"renew">>(2, { do: fc.constant("renew"), pick: fc.nat({ max: 4 }), ttlMs: ttl }),
  weigh<ActionOf<"release">>(2, { do: fc.constant("release"), pick: fc.nat({ max: 4 }) }),
  weigh<ActionOf<"advance">>(2, { do: fc.constant("advance"), ms: fc.constantFrom(1, 10, 1000, -5, -1000) }),
  weigh<ActionOf<"create">>(2, {
    do: fc.constant("create"),
    title: maybe(fc.constantFrom("", "title"), 2),
    firstId: fc.constantFrom(1, 1, 7),
    owner: maybe(fc.constantFrom(...OWNERS), 2),
    rootId: maybe(fc.constantFrom(...SESSIONS), 2),
  }),
  weigh<ActionOf<"rename">>(1, { do: fc.constant("rename"), title: fc.constantFrom("x", "y") }),
  weigh<ActionOf<"delete">>(1, { do: fc.constant("delete") }),
  weigh<ActionOf<"reopen">>(1, { do: fc.constant("reopen") }),
);

/** Builds the batch of a step: valid, or with one fault. */
export function buildBatch(
  to: ModelSession,
  step: Omit<WalkWrite, "session">,
  ts: number,
  leases: readonly Lease[],
): Append {
  const { sessionId } = to;
  const { fault } = step;
  const lastId = lastIdOf(to);
  const list = draftItems(to, step.items, ts);
  if (fault === "large") list.push(drafts.note("é".repeat(600)));
  if (fault === "many") list.push(...Array.from({ length: 9 }, () => drafts.note("x")));
  const after = lastId + (fault === "behind" ? -1 : fault === "ahead" ? 1 : 0);
  const entries = [...makeEntries(sessionId, after, list)];
  if (fault === "foreign") entries.push(...makeEntries("elsewhere", after + list.length, [drafts.note("x")]));
  if (fault === "jump") entries.push(...makeEntries(sessionId, after + list.length + 1, [drafts.note("x")]));
  const settle = pendingOf(to)
    .slice(0, step.settle)
    .map(({ commandId }) => ({ commandId, outcome: OUTCOMES[step.outcome]! }));
  if (fault === "unknown") settle.push({ commandId: "missing", outcome: { code: "done" } });
  if (fault === "twice") settle.push(...settle.slice(0, 1));
  const stale = leases.findLast((lease) => lease.sessionId === sessionId && lease.epoch !== to.lease?.epoch);
  const epoch = fault === "epoch" ? (stale?.epoch ?? -1) : to.lease!.epoch;
  return { sessionId, epoch, expectedLastId: after, entries, settle };
}

/** Drafts records of new and live runs; runs may overlap. */
function draftItems(to: ModelSession, items: WalkWrite["items"], from: number): RecordDraft[] {
  const live = runsOf(to).flatMap(({ runId, status }) => (status === "live" ? [runId] : []));
  let ts = from;
  return items.map(({ kind, pick }, index) => {
    ts += 10;
    const runId = live[pick % (live.length + 1)] ?? `r${lastIdOf(to) + 1 + index}.${from}`;
    if (kind === "note") return drafts.note(`note ${pick}`);
    if (kind === "todo") return drafts.todo(`l${pick % 2}`);
    if (kind === "start") {
      const name = `r${lastIdOf(to) + 1 + index}.${from}`;
      live.push(name);
      return drafts.start(name, ts);
    }
    if (!live.includes(runId)) live.push(runId);
    if (kind === "chunk") return drafts.chunk(runId, `${pick}`, ts);
    if (kind === "long") return drafts.chunk(runId, "é".repeat(pick * 5), ts);
    if (kind === "checkpoint") return { ...drafts.checkpoint(`k${pick % 3}`, runId), ts };
    if (kind === "completed") return drafts.end(runId, "completed", undefined, ts);
    live.splice(live.indexOf(runId), 1);
    return kind === "reply" ? drafts.reply(runId, ts) : drafts.end(runId, kind, pick % 2 === 0 ? "why" : undefined, ts);
  });
}
