// A connection over a network that loses, delays, drops and refuses at random, to a real log: in the end the receiver
// has what the log has, and says so.
import fc from "fast-check";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { connect } from "../../src/client/connection.ts";
import { createReceiver } from "../../src/client/index.ts";
import type { FrameSink, StreamOutcome, StreamRequest, Transport } from "../../src/client/transport.ts";
import type { SessionView } from "../../src/client/view.ts";
import { DIALECT_NAMES, type DialectName } from "../../src/dialects/index.ts";
import { MemoryLog, openStream } from "../../src/log/index.ts";
import { isLoomError, type StampedRecord } from "../../src/protocol/index.ts";
import { gather, writeRecords } from "../log-sessions.ts";
import { sessionArbitrary } from "../run-arbitrary.ts";
import { SAMPLES } from "../sampling.ts";
import { ManualClock } from "./manual-clock.ts";

/** What befalls one opening: so many frames, then this. */
interface Fate {
  readonly frames: number;
  readonly end: "lost" | "ended" | "silent" | "stale";
  /** Frames of it that vanish on the way, by their place in it. */
  readonly dropped: readonly number[];
}

const fateArbitrary = (canDrop: boolean): fc.Arbitrary<Fate> =>
  fc.record({
    frames: fc.nat({ max: 40 }),
    end: fc.constantFrom("lost", "lost", "ended", "silent", "stale"),
    dropped: canDrop ? fc.array(fc.nat({ max: 30 }), { maxLength: 3 }) : fc.constant([]),
  });

/** Opens streams of the log, each with its fate; when fates are used up nothing befalls any more. */
class PerilousTransport implements Transport {
  readonly #log: MemoryLog;
  readonly #fates: Fate[];
  readonly #cursors: "each" | "some" | "none";
  #lastEnd: Fate["end"] = "lost";
  /** Nothing befalls any more, and a stream that is followed has come to the end. */
  isCalm = false;

  constructor(log: MemoryLog, fates: readonly Fate[], cursors: "each" | "some" | "none") {
    this.#log = log;
    this.#fates = [...fates];
    this.#cursors = cursors;
  }

  async open(request: StreamRequest, sink: FrameSink, signal: AbortSignal) {
    let fate = this.#fates.shift();
    // The beginning is never stale, and a server that only ever says so is refused by design.
    if (fate?.end === "stale" && (request.from.after === undefined || this.#lastEnd === "stale"))
      fate = { ...fate, end: "lost" };
    if (fate !== undefined) this.#lastEnd = fate.end;
    return this.#play(request, sink, signal, fate);
  }

  async #play(
    { session, dialect, from, follow, limit = Infinity }: StreamRequest,
    sink: FrameSink,
    signal: AbortSignal,
    fate: Fate | undefined,
  ): Promise<StreamOutcome> {
    if (fate?.end === "stale") return { kind: "refused", code: "cursor_stale", message: "another life" };
    const place = /^\d+$/.test(from.after ?? "") ? { after: Number(from.after) } : { cursor: from.after };
    let count = 0;
    try {
      for await (const frames of openStream(this.#log, session, { dialect, ...place, skip: from.skip })) {
        for (const { text, cursor } of frames) {
          if (signal.aborted) return { kind: "aborted" };
          if (count >= limit) return { kind: "ended" };
          if (count === fate?.frames) return await this.#end(fate, signal);
          // A log may begin anywhere: without the very first frame nobody knows that there was one before the second.
          const isFirst = count === 0 && from.after === undefined;
          const isDropped = !isFirst && (fate?.dropped.includes(count) ?? false);
          count++;
          const isTold = this.#cursors === "each" || (this.#cursors === "some" && count % 3 === 0);
          if (!isDropped) sink.frame(text, isTold ? cursor : undefined);
        }
        await setImmediate();
      }
    } catch (error) {
      if (isLoomError(error)) return { kind: "refused", code: error.code, message: error.message };
      throw error;
    }
    if (signal.aborted) return { kind: "aborted" };
    if (fate !== undefined) return this.#end(fate, signal);
    if (!follow) return { kind: "ended" };
    this.isCalm = this.#fates.length === 0;
    return this.#end({ end: "silent" }, signal);
  }

  #end({ end }: Pick<Fate, "end">, signal: AbortSignal): Promise<StreamOutcome> {
    if (end === "silent")
      return new Promise((resolve) => signal.addEventListener("abort", () => resolve({ kind: "aborted" })));
    return Promise.resolve(end === "ended" ? { kind: "ended" } : { kind: "lost", message: "cut" });
  }

  async send(): Promise<never> {
    throw new Error("nothing is sent");
  }

  close(): void {
    // Nothing is held.
  }
}

/** Receives the session through these fates until the connection is done. */
async function receive(
  records: readonly StampedRecord[],
  dialect: DialectName,
  fates: readonly Fate[],
  cursors: "each" | "some" | "none",
) {
  const log = new MemoryLog();
  await writeRecords(log, records);
  const session = records[0]!.envelope.session_id;
  const receiver = createReceiver();
  /** Every text that was given to the track since the stream last began anew. */
  let taken: string[] = [];
  const tracker = {
    track(stream: { session: string; dialect: DialectName }) {
      const track = receiver.track(stream)!;
      const take = track.take.bind(track);
      const restart = track.restart.bind(track);
      track.take = (text, cursor) => {
        taken.push(text);
        take(text, cursor);
      };
      track.restart = () => {
        taken = [];
        restart();
      };
      return track;
    },
  };
  const clock = new ManualClock();
  const transport = new PerilousTransport(log, fates, cursors);
  const connection = connect(tracker, { transport, session, dialect, clock });
  const isMissing = (): boolean => receiver.getSnapshot().sessions[0]?.state.status === "gap";
  for (let step = 0; step < 10_000 && (!transport.isCalm || isMissing()); step++) await clock.advanceToNext();
  connection.close();
  const state = await connection.done;
  expect(clock.timerCount).toBe(0);
  const expected = (await gather(openStream(log, session, { dialect }))).flat().map(({ text }) => text);
  const [view] = receiver.getSnapshot().sessions;
  return { state, taken, expected, view: view! };
}

/** Without remarks; requests of engine are ordered each for itself, so they may have begun in another order. */
function sortTurns({ turns, todoLists, ...view }: SessionView): SessionView {
  return {
    ...view,
    turns: turns.toSorted((a, b) => a.key.localeCompare(b.key)),
    todoLists: todoLists.toSorted((a, b) => a.listId.localeCompare(b.listId)),
    issues: [],
    issueCount: 0,
  };
}

describe("a connection that is lost at random", () => {
  const cases = DIALECT_NAMES.flatMap((dialect) =>
    (["each", "some", "none"] as const).map((cursors) => [dialect, cursors] as const),
  );
  it.each(cases)("takes exactly what the log has, in %s, with cursors: %s", async (dialect, cursors) => {
    await fc.assert(
      fc.asyncProperty(sessionArbitrary, fc.array(fateArbitrary(false), { maxLength: 12 }), async (records, fates) => {
        const { state, taken, expected } = await receive(records, dialect, fates, cursors);
        expect(taken).toEqual(expected);
        expect(state.status).toBe("complete");
      }),
      { numRuns: Math.ceil(SAMPLES.sessions / 15) },
    );
  });

  // Who is refused again and again gives up, and says so. In engine the last frame of a request can vanish unnoticed
  // when another follows: that run then never ends.
  it.each(["loom", "engine"] as const)("loses nothing for good when frames vanish, in %s", async (dialect) => {
    let completed = 0;
    await fc.assert(
      fc.asyncProperty(sessionArbitrary, fc.array(fateArbitrary(true), { maxLength: 8 }), async (records, fates) => {
        const { state, view } = await receive(records, dialect, fates, "each");
        const clean = await receive(records, dialect, [], "each");
        if (state.status !== "complete") {
          // Who is refused the end of a run each time has it truncated.
          expect(["gap", "truncated"]).toContain(state.status);
          return;
        }
        completed++;
        expect(sortTurns(view)).toEqual(sortTurns(clean.view));
      }),
      { numRuns: Math.ceil(SAMPLES.sessions / 3) },
    );
    expect(completed).toBeGreaterThan(SAMPLES.sessions / 4); // of a third
  });
});
