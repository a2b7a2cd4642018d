import { describe, expect, test } from "vitest";
import { openSession } from "../../engine/index.ts";
import { MemoryLog } from "../../log/index.ts";
import { LocalService } from "../sessions/local-service.ts";
import { type FollowOutcome, RunFollower } from "./run-follower.ts";
import type { WaitingCall } from "./pending-approvals.ts";

/** Creates a run with two calls, of which the first is decided, and a follower that reads one record at a time. */
async function setUp({
  canAnswer,
  canContinue = true,
}: {
  readonly canAnswer: boolean;
  readonly canContinue?: boolean;
}) {
  const log = new MemoryLog({ limits: { maxPageRecords: 1 } });
  const session = await openSession(log, "s");
  const run = await session.startRun({ runId: "r" });
  const node = run.enter("act");
  for (const callId of ["a", "b"]) {
    void node.emit({ type: "tool_call", call_id: callId, name: "rm", arguments: {} });
    void run.requestApproval({ callId, name: "rm", arguments: {} }, node).catch(() => undefined);
  }
  run.answerApproval({ callId: "a", decision: "approved" });
  void node.emit({ type: "tool_start", call_id: "a", name: "rm" });
  await node.emit({ type: "tool_end", call_id: "a", name: "rm", result: "", is_error: false });

  const seen: string[][] = [];
  const stop = new AbortController();
  const follower = new RunFollower({
    service: new LocalService(log),
    sessionId: "s",
    runId: "r",
    after: 0,
    signal: stop.signal,
    recovered: Promise.resolve(),
    onRecord: async () => undefined,
    onOtherRun: () => undefined,
    canContinue: () => canContinue,
    onApprovals: (calls: readonly WaitingCall[]) => {
      seen.push(calls.map(({ callId }) => callId));
      return canAnswer;
    },
  });
  return { log, session, run, node, follower, seen, stop };
}

describe("RunFollower", () => {
  test("skips calls that were decided later in the log", async () => {
    const { follower, run, seen } = await setUp({ canAnswer: true });
    const following = follower.follow();
    await follower.firstId;
    while (seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    expect(seen[0]).toEqual(["b"]);
    await run.cancel("enough");
    expect(await following).toEqual({ kind: "ended", status: "cancelled", reason: "enough", code: "cancelled" });
    expect(seen.flat()).not.toContain("a");
  });

  test("ends if the run waits and no decision is made here", async () => {
    const { follower } = await setUp({ canAnswer: false });
    const outcome: FollowOutcome = await follower.follow();
    expect(outcome).toMatchObject({ kind: "waiting", calls: [{ callId: "b", runId: "r" }] });
    expect(follower.hasStarted).toBe(true);
  });

  test("does not report calls whose approval would end the run", async () => {
    const { follower, node, seen } = await setUp({ canAnswer: true, canContinue: false });
    await node.emit({ type: "tool_call", call_id: "c", name: "ls", arguments: {} });
    expect(await follower.follow()).toMatchObject({ kind: "waiting", calls: [{ callId: "b" }] });
    expect(seen.flat()).toEqual([]);
  });

  test("reports no calls before the session is recovered", async () => {
    const { log, seen, stop } = await setUp({ canAnswer: true });
    const recovered = Promise.withResolvers<void>();
    const follower = new RunFollower({
      service: new LocalService(log),
      sessionId: "s",
      runId: "r",
      after: 0,
      signal: stop.signal,
      recovered: recovered.promise,
      onRecord: async () => undefined,
      onOtherRun: () => undefined,
      canContinue: () => true,
      onApprovals: (calls) => seen.push(calls.map(({ callId }) => callId)) > 0,
    });
    const following = follower.follow();
    await follower.firstId;
    for (let n = 0; n < 20; n++) await new Promise(setImmediate);
    expect(seen.flat()).toEqual([]);
    recovered.resolve();
    while (seen.flat().length === 0) await new Promise(setImmediate);
    expect(seen.flat()).toEqual(["b"]);
    stop.abort();
    await following;
  });

  test("stops on abort before the run has started", async () => {
    const { log, stop } = await setUp({ canAnswer: true });
    const other = new RunFollower({
      service: new LocalService(log),
      sessionId: "s",
      runId: "another",
      after: 0,
      signal: stop.signal,
      recovered: Promise.resolve(),
      onRecord: async () => undefined,
      onOtherRun: () => undefined,
      canContinue: () => true,
      onApprovals: () => true,
    });
    const following = other.follow();
    setTimeout(() => stop.abort(), 10);
    expect([await following, await other.firstId]).toEqual([{ kind: "stopped" }, undefined]);
  });
});
