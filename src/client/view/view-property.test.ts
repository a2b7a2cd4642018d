// Properties of the view for every session: batches do not matter, unchanged parts keep their identity, and a view that
// was returned never changes.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sessionArbitrary } from "../../../test/run-arbitrary.ts";
import type { EventRecord, StampedRecord } from "../../protocol/index.ts";
import { RECEIVER_LIMITS, type ReceiverLimits } from "../limits.ts";
import type { SessionView } from "../view.ts";
import { SessionFold } from "./session-fold.ts";

/** Small limits are reached in short sessions too. */
const limitsArbitrary: fc.Arbitrary<ReceiverLimits> = fc.oneof(
  { arbitrary: fc.constant(RECEIVER_LIMITS), weight: 3 },
  fc
    .record({ maxTurns: fc.integer({ min: 1, max: 3 }), maxItems: fc.nat({ max: 4 }), maxText: fc.nat({ max: 20 }) })
    .map((small) => ({ ...RECEIVER_LIMITS, ...small, maxLiveTurns: 2, maxIssues: 2 })),
);

/** A session as it may arrive: complete, or with lost frames, unnamed runs and parallel runs. */
const streamArbitrary: fc.Arbitrary<EventRecord[]> = fc
  .tuple(
    sessionArbitrary,
    fc.constantFrom("whole", "lossy", "bare", "shuffled"),
    fc.infiniteStream(fc.nat({ max: 9 })).map((stream) => stream[Symbol.iterator]()),
  )
  .map(([records, kind, dice]) => {
    const roll = () => dice.next().value as number;
    if (kind === "lossy") return records.filter(() => roll() > 0);
    if (kind === "bare") return records.map(bare);
    if (kind === "shuffled") return mixRuns(records, () => roll() > 4);
    return records;
  });

function bare({ envelope: { session_id, event_id }, event }: StampedRecord): EventRecord {
  return { envelope: { session_id, event_id }, event };
}

/** Interleaves runs, keeping the order within each. */
function mixRuns(records: readonly StampedRecord[], isFirst: () => boolean): EventRecord[] {
  const queues = [...Map.groupBy(records, ({ envelope }) => envelope.run_id).values()];
  const mixed: EventRecord[] = [];
  while (queues.length > 0) {
    const queue = (isFirst() ? queues[0] : queues.at(-1)) as StampedRecord[];
    mixed.push(queue.shift() as StampedRecord);
    if (queue.length === 0) queues.splice(queues.indexOf(queue), 1);
  }
  return mixed;
}

function freeze(value: unknown): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const inner of Object.values(value)) freeze(inner);
}

function foldAll(records: readonly EventRecord[], limits: ReceiverLimits, byTime = false): SessionFold {
  const fold = new SessionFold("s", limits, { byTime });
  for (const record of records) fold.apply(record, true);
  return fold;
}

describe("the view of any session", () => {
  it("is the same for any batches, and a returned view never changes", () => {
    fc.assert(
      fc.property(streamArbitrary, limitsArbitrary, fc.boolean(), (records, limits, byTime) => {
        const fold = new SessionFold("s", limits, { byTime });
        const shown: { view: SessionView; text: string }[] = [];
        for (const record of records) {
          fold.apply(record, true);
          const view = fold.snapshot();
          freeze(view);
          shown.push({ view, text: JSON.stringify(view) });
        }
        const whole = foldAll(records, limits, byTime);
        expect(fold.snapshot()).toEqual(whole.snapshot());
        expect([fold.liveRuns, fold.runCount, fold.proofFault, fold.verified]).toEqual([
          whole.liveRuns,
          whole.runCount,
          whole.proofFault,
          whole.verified,
        ]);
        for (const { view, text } of shown) expect(JSON.stringify(view)).toBe(text);
      }),
    );
  });

  it("keeps the identity of unchanged parts only", () => {
    fc.assert(
      fc.property(streamArbitrary, limitsArbitrary, fc.boolean(), (records, limits, byTime) => {
        const fold = new SessionFold("s", limits, { byTime });
        let before = fold.snapshot();
        for (const record of records) {
          fold.apply(record, true);
          const after = fold.snapshot();
          expect(fold.snapshot()).toBe(after);
          expectShared(before, after);
          before = after;
        }
      }),
    );
  });

  it("joins its parts to the fields of 003", () => {
    fc.assert(
      fc.property(streamArbitrary, limitsArbitrary, (records, limits) => {
        for (const { messages } of foldAll(records, limits).snapshot().turns) {
          for (const message of messages) {
            const join = (type: string) =>
              message.parts.map((part) => ("text" in part && part.type === type ? part.text : "")).join("");
            expect(message.mainContent).toBe(join("text"));
            expect(message.thinkingContent).toBe(join("thinking"));
            expect(message.toolCalls).toEqual(
              message.parts.flatMap((part) => (part.type === "tool" ? [part.call] : [])),
            );
            expect(message.dataBlocks).toEqual(
              message.parts.flatMap((part) => (part.type === "data" ? [part.block] : [])),
            );
            const keys = message.parts.map(({ key }) => key);
            expect(new Set(keys).size).toBe(keys.length);
          }
        }
      }),
    );
  });

  it("is verified and has nothing open for a complete session", () => {
    fc.assert(
      fc.property(sessionArbitrary, (records) => {
        const fold = foldAll(records, RECEIVER_LIMITS);
        const { turns, issues } = fold.snapshot();
        expect(issues).toEqual([]);
        expect([fold.verified, fold.proofFault, fold.liveRuns]).toEqual([true, undefined, 0]);
        for (const turn of turns) {
          expect([turn.verified, turn.isPartial, turn.omitted]).toEqual([true, false, 0]);
          expect(turn.status).not.toBe("running");
          for (const { isStreaming } of turn.messages) expect(isStreaming).toBe(false);
          for (const { status } of turn.nodes) expect(status).toBe("ok");
        }
      }),
    );
  });
});

/** Fields that contain JSON from the wire. A new frame creates a new object there, even if it is equal. */
const PAYLOADS: ReadonlySet<string> = new Set(["arguments", "values", "updates", "others"]);
const payloadNumbers = new WeakMap<object, number>();
let payloadCount = 0;

function describeView(view: unknown): string {
  return JSON.stringify(view, (key, value: unknown) => {
    if (!PAYLOADS.has(key) || typeof value !== "object" || value === null) return value;
    const number = payloadNumbers.get(value) ?? ++payloadCount;
    payloadNumbers.set(value, number);
    return `payload ${number}`;
  });
}

/** Equal objects of two views are identical. */
function expectShared(before: unknown, after: unknown): void {
  if (before === after || typeof before !== "object" || typeof after !== "object") return;
  if (before === null || after === null) return;
  // Lists move up when their first entry is removed.
  if ("key" in before && "key" in after && before.key !== after.key) return;
  expect(describeView(after)).not.toBe(describeView(before));
  const old = before as { readonly [key: string]: unknown };
  for (const [key, value] of Object.entries(after)) if (!PAYLOADS.has(key)) expectShared(old[key], value);
}
