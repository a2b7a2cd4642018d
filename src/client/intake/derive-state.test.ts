import { describe, expect, it } from "vitest";
import { deriveState, type StreamFacts, INITIAL_STATE, NO_FACTS, type FeedPhase } from "./derive-state.ts";

const OPEN: FeedPhase = { kind: "open" };
const ENDED: FeedPhase = { kind: "ended" };
const REPAIRING: FeedPhase = { kind: "repairing", reason: { code: "connection_lost", message: "gone" } };
const FAILED: FeedPhase = { kind: "failed", reason: { code: "reconnect_limit", message: "no more" } };
const LOST = { code: "frames_missing", message: "1 frame missing" } as const;
const DONE: Partial<StreamFacts> = { runCount: 1, liveRuns: 0, isVerified: true };
const GOING: Partial<StreamFacts> = { runCount: 1, liveRuns: 1, isVerified: true };

const CASES: readonly [what: string, facts: Partial<StreamFacts>, status: string, code?: string][] = [
  ["nothing received yet", { phases: [OPEN] }, "live"],
  ["ended without frames", { phases: [ENDED] }, "truncated", "stream_cut"],
  ["live run", { ...GOING, phases: [OPEN] }, "live"],
  ["ended run, open source", { ...DONE, phases: [OPEN] }, "complete"],
  ["ended run, ended source", { ...DONE, phases: [ENDED] }, "complete"],
  ["source ended during a run", { ...GOING, phases: [ENDED] }, "truncated", "stream_cut"],
  ["one source ended, another open", { ...GOING, phases: [ENDED, OPEN] }, "live"],
  ["missing frames", { ...GOING, phases: [OPEN], isMissing: true }, "gap", "frames_missing"],
  ["missing frames, repairing", { ...GOING, phases: [REPAIRING], isMissing: true }, "repairing", "connection_lost"],
  [
    "missing frames, one source repairing, another open",
    { ...GOING, phases: [OPEN, REPAIRING], isMissing: true },
    "repairing",
    "connection_lost",
  ],
  ["one source reconnecting, another open", { ...GOING, phases: [OPEN, REPAIRING] }, "live"],
  ["the only source reconnecting", { ...GOING, phases: [REPAIRING] }, "repairing", "connection_lost"],
  ["failed source", { ...GOING, phases: [FAILED] }, "failed", "reconnect_limit"],
  ["one source failed, another open", { ...DONE, phases: [FAILED, OPEN] }, "complete"],
  ["lost frames", { ...DONE, phases: [ENDED], lost: LOST }, "gap", "frames_missing"],
  ["lost frames during a run", { ...GOING, phases: [OPEN], lost: LOST }, "gap", "frames_missing"],
  ["lost frames and a truncated run", { ...GOING, phases: [ENDED], lost: LOST }, "truncated", "stream_cut"],
];

describe("deriveState", () => {
  it.each(CASES)("%s", (_what, facts, status, code) => {
    const state = deriveState(INITIAL_STATE, { ...NO_FACTS, ...facts });
    expect([state.status, state.reason?.code]).toEqual([status, code]);
    expect(state.verified).toBe((status === "live" || status === "complete") && (facts.runCount ?? 0) > 0);
  });

  it("does not verify streams without numbers, and lists undetectable faults", () => {
    const facts = { ...NO_FACTS, ...DONE, phases: [ENDED] };
    expect(deriveState(INITIAL_STATE, { ...facts, undetectable: "loss" })).toMatchObject({
      status: "complete",
      verified: false,
      undetectable: ["loss"],
    });
    expect(deriveState(INITIAL_STATE, { ...facts, undetectable: "all" }).undetectable).toEqual([
      "loss",
      "duplicate",
      "order",
    ]);
  });

  it("returns the same object if nothing changed", () => {
    const facts = { ...NO_FACTS, ...GOING, phases: [ENDED] };
    const state = deriveState(INITIAL_STATE, facts);
    expect(deriveState(state, { ...facts, phases: [ENDED] })).toBe(state);
  });
});
