import { describe, expect, it } from "vitest";
import { deriveState, type Facts, INITIAL_STATE, NO_FACTS, type Phase } from "./state.ts";

const OPEN: Phase = { kind: "open" };
const ENDED: Phase = { kind: "ended" };
const REPAIRING: Phase = { kind: "repairing", reason: { code: "connection_lost", message: "gone" } };
const FAILED: Phase = { kind: "failed", reason: { code: "reconnect_limit", message: "no more" } };
const LOST = { code: "frames_missing", message: "1 frame did not come" } as const;
const DONE: Partial<Facts> = { runCount: 1, liveRuns: 0, isVerified: true };
const GOING: Partial<Facts> = { runCount: 1, liveRuns: 1, isVerified: true };

const CASES: readonly [what: string, facts: Partial<Facts>, status: string, code?: string][] = [
  ["nothing came yet", { phases: [OPEN] }, "live"],
  ["nothing ever came", { phases: [ENDED] }, "truncated", "stream_cut"],
  ["a run is going", { ...GOING, phases: [OPEN] }, "live"],
  ["a run is over, and more may come", { ...DONE, phases: [OPEN] }, "complete"],
  ["a run is over, and all is", { ...DONE, phases: [ENDED] }, "complete"],
  ["the stream ended in a run", { ...GOING, phases: [ENDED] }, "truncated", "stream_cut"],
  ["another still brings frames", { ...GOING, phases: [ENDED, OPEN] }, "live"],
  ["frames are missing", { ...GOING, phases: [OPEN], isMissing: true }, "gap", "frames_missing"],
  ["they are asked for", { ...GOING, phases: [REPAIRING], isMissing: true }, "repairing", "connection_lost"],
  [
    "one asks for them, another is open",
    { ...GOING, phases: [OPEN, REPAIRING], isMissing: true },
    "repairing",
    "connection_lost",
  ],
  ["one reconnects, another is open", { ...GOING, phases: [OPEN, REPAIRING] }, "live"],
  ["the connection is gone", { ...GOING, phases: [REPAIRING] }, "repairing", "connection_lost"],
  ["it is given up", { ...GOING, phases: [FAILED] }, "failed", "reconnect_limit"],
  ["one is given up, another is open", { ...DONE, phases: [FAILED, OPEN] }, "complete"],
  ["frames are lost for good", { ...DONE, phases: [ENDED], lost: LOST }, "gap", "frames_missing"],
  ["frames are lost, and the run goes on", { ...GOING, phases: [OPEN], lost: LOST }, "gap", "frames_missing"],
  ["frames are lost, and the stream was cut", { ...GOING, phases: [ENDED], lost: LOST }, "truncated", "stream_cut"],
];

describe("deriveState", () => {
  it.each(CASES)("%s", (_what, facts, status, code) => {
    const state = deriveState(INITIAL_STATE, { ...NO_FACTS, ...facts });
    expect([state.status, state.reason?.code]).toEqual([status, code]);
    expect(state.verified).toBe((status === "live" || status === "complete") && (facts.runCount ?? 0) > 0);
  });

  it("never calls verified what has no numbers, and says what cannot be known", () => {
    const facts = { ...NO_FACTS, ...DONE, phases: [ENDED] };
    expect(deriveState(INITIAL_STATE, { ...facts, blindness: "loss" })).toMatchObject({
      status: "complete",
      verified: false,
      cannotKnow: ["loss"],
    });
    expect(deriveState(INITIAL_STATE, { ...facts, blindness: "all" }).cannotKnow).toEqual(["loss", "double", "order"]);
  });

  it("gives the same object when nothing changed", () => {
    const facts = { ...NO_FACTS, ...GOING, phases: [ENDED] };
    const state = deriveState(INITIAL_STATE, facts);
    expect(deriveState(state, { ...facts, phases: [ENDED] })).toBe(state);
  });
});
