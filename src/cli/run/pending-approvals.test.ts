import { describe, expect, test } from "vitest";
import type { AnyEvent } from "../../protocol/index.ts";
import { PendingApprovals } from "./pending-approvals.ts";

const call = (call_id: string): AnyEvent => ({ type: "tool_call", call_id, name: "rm", arguments: { path: call_id } });
const asked = (call_id: string, expires_at = 100): AnyEvent => ({
  type: "tool_approval",
  call_id,
  name: "rm",
  arguments: { path: call_id },
  expires_at,
});
const answered = (call_id: string): AnyEvent => ({ type: "tool_approval_result", call_id, decision: "approved" });
const started = (call_id: string): AnyEvent => ({ type: "tool_start", call_id, name: "rm" });
const ended = (call_id: string): AnyEvent => ({ type: "tool_end", call_id, name: "rm", result: "", is_error: false });

function fold(...events: readonly AnyEvent[]): PendingApprovals {
  const approvals = new PendingApprovals();
  for (const event of events) approvals.add({ envelope: { session_id: "s", run_id: "r", event_id: 1, ts: 0 }, event });
  return approvals;
}

describe("PendingApprovals", () => {
  test("lists waiting calls until they are decided or ended, or the run ends", () => {
    const waiting = (...events: readonly AnyEvent[]) => fold(...events).waiting.map(({ callId }) => callId);
    expect(waiting(call("a"), asked("a"), call("b"), asked("b"))).toEqual(["a", "b"]);
    expect(waiting(call("a"), asked("a"), call("b"), asked("b"), answered("a"))).toEqual(["b"]);
    expect(waiting(call("a"), asked("a"), ended("a"))).toEqual([]);
    expect(waiting(call("a"), asked("a"), { type: "run_end", status: "error" })).toEqual([]);
    expect(fold(asked("a")).waiting).toEqual([
      { runId: "r", callId: "a", name: "rm", arguments: { path: "a" }, expiresAt: 100 },
    ]);
  });

  test("lists the tools of calls that asked for approval until they end", () => {
    expect(fold(call("a"), asked("a"), asked("b"), answered("b")).neededTools).toEqual(["rm"]);
    expect(fold(call("a"), asked("a"), answered("a")).neededTools).toEqual(["rm"]);
    expect(fold(call("a"), asked("a"), answered("a"), ended("a"), call("b")).neededTools).toEqual([]);
    expect(fold(asked("a"), { type: "run_end", status: "error" }).neededTools).toEqual([]);
  });

  test("blocks only if no other call is running and no approval has expired", () => {
    const blocking = (...events: readonly AnyEvent[]) => fold(...events).listBlocking(50).length;
    expect(blocking()).toBe(0);
    expect(blocking(call("a"), asked("a"))).toBe(1);
    expect(blocking(call("a"), call("b"), asked("a"))).toBe(0);
    expect(blocking(call("a"), call("b"), asked("a"), started("b"))).toBe(0);
    expect(blocking(call("a"), call("b"), asked("a"), started("b"), ended("b"))).toBe(1);
    expect(blocking(call("a"), asked("a"), answered("a"))).toBe(0);
    expect(blocking(call("a"), asked("a", 40))).toBe(0);
  });
});
