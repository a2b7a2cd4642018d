import { describe, expect, test, vi } from "vitest";
import { openSession } from "../../engine/index.ts";
import { MemoryLog } from "../../log/index.ts";
import { LocalService } from "../sessions/local-service.ts";
import { Approver, type ApproverOptions } from "./approver.ts";
import type { ToolDecision } from "./prompt-for-approval.ts";
import type { WaitingCall } from "./pending-approvals.ts";

const waitingCall = (callId: string): WaitingCall => ({
  runId: "r",
  callId,
  name: "rm",
  arguments: { path: callId },
  expiresAt: undefined,
});

/** Creates a run whose calls wait for approval. */
async function setUp(callIds: readonly string[], options: Partial<ApproverOptions>) {
  const log = new MemoryLog();
  const session = await openSession(log, "s");
  const run = await session.startRun({ runId: "r" });
  const node = run.enter("act");
  const answers = callIds.map((callId) => {
    void node.emit({ type: "tool_call", call_id: callId, name: "rm", arguments: { path: callId } });
    return run.requestApproval({ callId, name: "rm", arguments: { path: callId } }, node);
  });
  const callbacks = {
    onInputClosed: vi.fn<() => void>(),
    onRefused: vi.fn<() => void>(),
    onFailed: vi.fn<() => void>(),
  };
  const decide = (): ToolDecision => ({ decision: "approved" });
  const service = new LocalService(log);
  return { answers, callbacks, approver: new Approver({ service, sessionId: "s", decide, ...callbacks, ...options }) };
}

describe("Approver", () => {
  test("decides on each call once, even if it is reported repeatedly", async () => {
    const asked: string[] = [];
    const { answers, approver } = await setUp(["a", "b"], {
      decide: ({ callId }) => {
        asked.push(callId);
        return callId === "a"
          ? { decision: "approved", arguments: { path: "x" } }
          : { decision: "rejected", reason: "no" };
      },
    });
    for (let n = 0; n < 5; n++) approver.update([waitingCall("a"), waitingCall("b")]);
    expect(await Promise.all(answers)).toMatchObject([
      { decision: "approved", arguments: { path: "x" } },
      { decision: "rejected", reason: "no" },
    ]);
    approver.update([]);
    expect(asked).toEqual(["a", "b"]);
  });

  test("asks one call at a time, and withdraws a call decided elsewhere", async () => {
    const open = new Map<string, PromiseWithResolvers<ToolDecision | undefined>>();
    const { answers, approver, callbacks } = await setUp(["a", "b"], {
      decide: ({ callId }, signal) => {
        const asked = Promise.withResolvers<ToolDecision | undefined>();
        signal.addEventListener("abort", () => asked.resolve(undefined));
        open.set(callId, asked);
        return asked.promise;
      },
    });
    approver.update([waitingCall("a"), waitingCall("b")]);
    await vi.waitFor(() => expect([...open.keys()]).toEqual(["a"]));
    approver.update([waitingCall("b")]);
    await vi.waitFor(() => expect([...open.keys()]).toEqual(["a", "b"]));
    open.get("b")?.resolve({ decision: "approved" });
    expect(await answers[1]).toMatchObject({ decision: "approved" });
    expect(callbacks.onInputClosed).not.toHaveBeenCalled();
  });

  test("stops when the input is closed, and reports rejected decisions and errors", async () => {
    const closed = await setUp(["a", "b"], { decide: () => Promise.resolve(undefined) });
    closed.approver.update([waitingCall("a"), waitingCall("b")]);
    await vi.waitFor(() => expect(closed.callbacks.onInputClosed).toHaveBeenCalledOnce());
    const { approver, callbacks } = await setUp(["a"], {});
    approver.update([{ ...waitingCall("a"), digest: "another" }]);
    await vi.waitFor(() => expect(callbacks.onRefused).toHaveBeenCalledOnce());
    const failing = await setUp(["a"], { decide: () => Promise.reject(new Error("tty")) });
    failing.approver.update([waitingCall("a")]);
    await vi.waitFor(() => expect(failing.callbacks.onFailed).toHaveBeenCalledOnce());
  });
});
