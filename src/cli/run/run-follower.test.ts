import { describe, expect, test } from "vitest";
import { openSession } from "../../engine/index.ts";
import { MemoryLog } from "../../log/index.ts";
import { type Outcome, RunFollower } from "./run-follower.ts";
import type { Question } from "./open-questions.ts";

/** A run with two questions, of which the first was answered; and one who follows it, record by record. */
async function setUp({ canAnswer }: { readonly canAnswer: boolean }) {
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
    log,
    sessionId: "s",
    runId: "r",
    after: 0,
    signal: stop.signal,
    recovered: Promise.resolve(),
    onRecord: async () => undefined,
    onOther: () => undefined,
    onQuestions: (questions: readonly Question[]) => {
      seen.push(questions.map(({ callId }) => callId));
      return canAnswer;
    },
  });
  return { log, session, run, node, follower, seen, stop };
}

describe("RunFollower", () => {
  test("asks nothing that was answered further on", async () => {
    const { follower, run, seen } = await setUp({ canAnswer: true });
    const following = follower.follow();
    await follower.began;
    while (seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    expect(seen[0]).toEqual(["b"]);
    await run.cancel("enough");
    expect(await following).toEqual({ kind: "ended", status: "cancelled", reason: "enough", code: "cancelled" });
    expect(seen.flat()).not.toContain("a");
  });

  test("ends where the run waits and nobody answers", async () => {
    const { follower } = await setUp({ canAnswer: false });
    const outcome: Outcome = await follower.follow();
    expect(outcome).toMatchObject({ kind: "waiting", questions: [{ callId: "b", runId: "r" }] });
    expect(follower.hasBegun).toBe(true);
  });

  test("stops when it is told to, and says that a run has not begun", async () => {
    const { log, stop } = await setUp({ canAnswer: true });
    const other = new RunFollower({
      log,
      sessionId: "s",
      runId: "another",
      after: 0,
      signal: stop.signal,
      recovered: Promise.resolve(),
      onRecord: async () => undefined,
      onOther: () => undefined,
      onQuestions: () => true,
    });
    const following = other.follow();
    setTimeout(() => stop.abort(), 10);
    expect([await following, await other.began]).toEqual([{ kind: "stopped" }, undefined]);
  });
});
