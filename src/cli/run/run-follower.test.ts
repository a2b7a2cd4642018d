import { describe, expect, test } from "vitest";
import { openSession } from "../../engine/index.ts";
import { MemoryLog } from "../../log/index.ts";
import { type Outcome, RunFollower } from "./run-follower.ts";
import type { Question } from "./open-questions.ts";

/** A run with two questions, of which the first was answered; and one who follows it, record by record. */
async function setUp({ canAnswer, canGoOn = true }: { readonly canAnswer: boolean; readonly canGoOn?: boolean }) {
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
    canGoOn: () => canGoOn,
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

  test("shows no question whose answer would end the run, though other calls seem to go on", async () => {
    const { follower, node, seen } = await setUp({ canAnswer: true, canGoOn: false });
    await node.emit({ type: "tool_call", call_id: "c", name: "ls", arguments: {} });
    expect(await follower.follow()).toMatchObject({
      kind: "waiting",
      questions: [{ callId: "b" }],
      neededTools: ["rm"],
    });
    expect(seen.flat()).toEqual([]);
  });

  test("asks nothing before it is known who goes on with the run", async () => {
    const { log, seen, stop } = await setUp({ canAnswer: true });
    const recovered = Promise.withResolvers<void>();
    const follower = new RunFollower({
      log,
      sessionId: "s",
      runId: "r",
      after: 0,
      signal: stop.signal,
      recovered: recovered.promise,
      onRecord: async () => undefined,
      onOther: () => undefined,
      canGoOn: () => true,
      onQuestions: (questions) => seen.push(questions.map(({ callId }) => callId)) > 0,
    });
    const following = follower.follow();
    await follower.began;
    for (let n = 0; n < 20; n++) await new Promise(setImmediate);
    expect(seen.flat()).toEqual([]);
    recovered.resolve();
    while (seen.flat().length === 0) await new Promise(setImmediate);
    expect(seen.flat()).toEqual(["b"]);
    stop.abort();
    await following;
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
      canGoOn: () => true,
      onQuestions: () => true,
    });
    const following = other.follow();
    setTimeout(() => stop.abort(), 10);
    expect([await following, await other.began]).toEqual([{ kind: "stopped" }, undefined]);
  });
});
