import { describe, expect, test, vi } from "vitest";
import { openSession } from "../../engine/index.ts";
import { MemoryLog } from "../../log/index.ts";
import { Approver, type ApproverOptions } from "./approver.ts";
import type { Decision } from "./ask-person.ts";
import type { Question } from "./open-questions.ts";

const question = (callId: string): Question => ({
  runId: "r",
  callId,
  name: "rm",
  arguments: { path: callId },
  expiresAt: undefined,
});

/** A run that waits for the answers to these calls. */
async function setUp(callIds: readonly string[], options: Partial<ApproverOptions>) {
  const log = new MemoryLog();
  const session = await openSession(log, "s");
  const run = await session.startRun({ runId: "r" });
  const node = run.enter("act");
  const answers = callIds.map((callId) => {
    void node.emit({ type: "tool_call", call_id: callId, name: "rm", arguments: { path: callId } });
    return run.requestApproval({ callId, name: "rm", arguments: { path: callId } }, node);
  });
  const told = { onGone: vi.fn<() => void>(), onRefused: vi.fn<() => void>(), onFailed: vi.fn<() => void>() };
  const decide = (): Decision => ({ decision: "approved" });
  return { answers, told, approver: new Approver({ log, sessionId: "s", decide, ...told, ...options }) };
}

describe("Approver", () => {
  test("answers each question once, however often it is told of it", async () => {
    const asked: string[] = [];
    const { answers, approver } = await setUp(["a", "b"], {
      decide: ({ callId }) => {
        asked.push(callId);
        return callId === "a"
          ? { decision: "approved", arguments: { path: "x" } }
          : { decision: "rejected", reason: "no" };
      },
    });
    for (let n = 0; n < 5; n++) approver.update([question("a"), question("b")]);
    expect(await Promise.all(answers)).toMatchObject([
      { decision: "approved", arguments: { path: "x" } },
      { decision: "rejected", reason: "no" },
    ]);
    approver.update([]);
    expect(asked).toEqual(["a", "b"]);
  });

  test("asks one after the other, and withdraws what somebody else has answered", async () => {
    const open = new Map<string, PromiseWithResolvers<Decision | undefined>>();
    const { answers, approver, told } = await setUp(["a", "b"], {
      decide: ({ callId }, signal) => {
        const asked = Promise.withResolvers<Decision | undefined>();
        signal.addEventListener("abort", () => asked.resolve(undefined));
        open.set(callId, asked);
        return asked.promise;
      },
    });
    approver.update([question("a"), question("b")]);
    await vi.waitFor(() => expect([...open.keys()]).toEqual(["a"]));
    approver.update([question("b")]);
    await vi.waitFor(() => expect([...open.keys()]).toEqual(["a", "b"]));
    open.get("b")?.resolve({ decision: "approved" });
    expect(await answers[1]).toMatchObject({ decision: "approved" });
    expect(told.onGone).not.toHaveBeenCalled();
  });

  test("gives up when the person goes away, and says what was not taken", async () => {
    const gone = await setUp(["a", "b"], { decide: () => Promise.resolve(undefined) });
    gone.approver.update([question("a"), question("b")]);
    await vi.waitFor(() => expect(gone.told.onGone).toHaveBeenCalledOnce());
    const { approver, told } = await setUp(["a"], {});
    approver.update([{ ...question("a"), name: "another" }]);
    await vi.waitFor(() => expect(told.onRefused).toHaveBeenCalledOnce());
    const failing = await setUp(["a"], { decide: () => Promise.reject(new Error("tty")) });
    failing.approver.update([question("a")]);
    await vi.waitFor(() => expect(failing.told.onFailed).toHaveBeenCalledOnce());
  });
});
