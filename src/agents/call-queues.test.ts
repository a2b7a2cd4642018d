// The order of turns for any sequence of arrivals and departures.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SAMPLES } from "../../test/sampling.ts";
import { CallQueues, type CallQueueRequest, type QueuedCall } from "./call-queues.ts";

const flush = () => new Promise(setImmediate);

class Caller {
  readonly runId: string;
  readonly place: QueuedCall;
  hasTurn = false;
  wasInterrupted = false;

  constructor(lines: CallQueues, runId: string, sessionId: string, whenBusy: CallQueueRequest["whenBusy"]) {
    this.runId = runId;
    this.place = lines.join({ sessionId, runId, whenBusy, onInterrupt: () => void (this.wasInterrupted = true) });
    void this.place.turn.then(() => void (this.hasTurn = true));
  }
}

describe("CallQueues", () => {
  it("gives turns in the same order as a simple model", async () => {
    const session = fc.constantFrom("a", "b");
    const step = fc.oneof(
      fc.record({ session, whenBusy: fc.constantFrom("enqueue", "reject", "interrupt", undefined) }),
      fc.record({ session, leaves: fc.nat({ max: 6 }) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const lines = new CallQueues();
        const expected = {
          a: [] as { caller: Caller; hurries: boolean }[],
          b: [] as { caller: Caller; hurries: boolean }[],
        };
        for (const [index, next] of steps.entries()) {
          const line = expected[next.session];
          if ("leaves" in next) {
            const [gone] = line.splice(next.leaves, 1);
            gone?.caller.place.leave();
            gone?.caller.place.leave();
          } else if (next.whenBusy === "reject" && line.length > 0) {
            expect(() => new Caller(lines, "x", next.session, next.whenBusy)).toThrow("Another run is live");
          } else {
            const hurries = next.whenBusy === "interrupt";
            const caller = new Caller(lines, `${index}`, next.session, next.whenBusy);
            const waiting = line.slice(1).filter(({ hurries: was }) => !was).length;
            line.splice(hurries ? line.length - waiting : line.length, 0, { caller, hurries });
          }
          await flush();
          for (const { length, ...all } of [expected.a, expected.b])
            for (const [at, { caller }] of Object.entries(all) as [string, { caller: Caller }][]) {
              expect([length, caller.runId, caller.hasTurn]).toEqual([length, caller.runId, at === "0"]);
              if (at !== "0") expect(caller.wasInterrupted).toBe(false);
            }
          for (const [first, second] of [expected.a, expected.b])
            if (second?.hurries === true) expect(first?.caller.wasInterrupted).toBe(true);
        }
      }),
      { numRuns: SAMPLES.pairs, seed: 49 },
    );
  });
});
