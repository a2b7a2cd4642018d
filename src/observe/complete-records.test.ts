// Records without a run or time get one; complete records stay unchanged.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { makeRun } from "../../test/log-sessions.ts";
import { SAMPLES } from "../../test/sampling.ts";
import type { AnyEvent, StampedRecord } from "../protocol/index.ts";
import { createRecordCompleter } from "./complete-records.ts";

function make(events: readonly (AnyEvent & { readonly run?: string; readonly ts?: number })[]): StampedRecord[] {
  return events.map(({ run, ts, ...event }, index) => ({
    envelope: {
      session_id: "s",
      event_id: index + 1,
      ...(run === undefined ? {} : { run_id: run }),
      ...(ts === undefined ? {} : { ts }),
    },
    event: event as AnyEvent,
  }));
}

const START = { type: "run_start", run_id: "a" } as const;
const TEXT = { type: "message_chunk", content: "x", id: "think" } as const;
const CUSTOM = { type: "custom", value: 1 } as const;
const OVER = { type: "reply", reply: "x" } as const;
const LOST = { type: "run_end", status: "error" } as const;

describe("the run of a record", () => {
  it.each([
    ["the open run", [START, TEXT, OVER], ["a", "a", "a"]],
    ["the open run for all its events", [START, CUSTOM, LOST], ["a", "a", "a"]],
    ["none before the first run and after the last", [TEXT, START, OVER, TEXT], [undefined, "a", "a", undefined]],
    ["one run after another", [START, OVER, { ...START, run_id: "b" }, TEXT], ["a", "a", "b", "b"]],
    ["a run without a name", [{ type: "run_start" }, TEXT, OVER], ["run-1", "run-1", "run-1"]],
    [
      "its own run",
      [
        { ...START, run: "a" },
        { ...TEXT, run: "b" },
        { ...TEXT, run: "a" },
      ],
      ["a", "b", "a"],
    ],
    ["none if runs are named", [{ ...START, run: "a" }, CUSTOM, TEXT], ["a", undefined, "a"]],
  ] as const)("is %s", (_what, events, runs) => {
    expect(
      make(events)
        .map(createRecordCompleter())
        .map(({ envelope }) => envelope.run_id),
    ).toEqual(runs);
  });

  it("is restored whichever names are left out of consecutive runs", () => {
    const runs = ["a", "b", "c"].flatMap((runId, index) => makeRun(runId, { after: index * 4 }));
    fc.assert(
      fc.property(fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }), (lacks) => {
        const incomplete = runs.map((record, index) => {
          const { run_id: _run, ...envelope } = record.envelope;
          return lacks[index] === true ? { ...record, envelope } : record;
        });
        expect(incomplete.map(createRecordCompleter())).toEqual(runs);
      }),
      { numRuns: SAMPLES.sessions },
    );
  });
});

it("uses the last known time for a record without one", () => {
  const records = make([START, { ...TEXT, ts: 7 }, TEXT, TEXT, { ...TEXT, ts: 9 }, OVER]);
  const times = records.map(createRecordCompleter()).map(({ envelope }) => envelope.ts);
  expect(times).toEqual([undefined, 7, 7, 7, 9, 9]);
});
