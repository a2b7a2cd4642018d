import { describe, expect, it } from "vitest";
import {
  addPendingCall,
  addWaitingCall,
  endMessage,
  mustEndMessage,
  removePendingCall,
  removeWaitingCall,
  WaitingCalls,
} from "./waiting-calls.ts";

describe("a message of a run that waits", () => {
  it("ends when all unfinished calls of a model's answer wait", () => {
    const calls = new WaitingCalls<string>();
    for (const id of ["a", "b", "c"]) addPendingCall(calls, id, "n1");
    addWaitingCall(calls, "a", "A");
    expect(mustEndMessage(calls)).toBe(false);
    removePendingCall(calls, "b");
    expect(mustEndMessage(calls)).toBe(false);
    addWaitingCall(calls, "c", "C");
    expect(mustEndMessage(calls)).toBe(true);
    expect(endMessage(calls)).toEqual([]);
    // Records that change nothing for the client do not end another message.
    expect(mustEndMessage(calls)).toBe(false);
  });

  it("repeats requests that were not answered", () => {
    const calls = new WaitingCalls<string>();
    for (const id of ["a", "b"]) addPendingCall(calls, id, "n1");
    addWaitingCall(calls, "a", "A");
    addWaitingCall(calls, "b", "B");
    endMessage(calls);
    removeWaitingCall(calls, "a");
    expect(mustEndMessage(calls)).toBe(false);
    removePendingCall(calls, "a");
    expect(mustEndMessage(calls)).toBe(true);
    expect(endMessage(calls)).toEqual(["B"]);
  });

  it("ends for a call of a nested agent while the call of the agent is open", () => {
    const calls = new WaitingCalls<string>();
    addPendingCall(calls, "agent", "outer");
    addPendingCall(calls, "other", "outer");
    addPendingCall(calls, "inner", "nested");
    addWaitingCall(calls, "other", "O");
    expect(mustEndMessage(calls)).toBe(false);
    addWaitingCall(calls, "inner", "I");
    expect(mustEndMessage(calls)).toBe(true);
  });

  it("ends for a call that was not announced", () => {
    const calls = new WaitingCalls<string>();
    addPendingCall(calls, "busy", "n1");
    addWaitingCall(calls, "unknown", "U");
    expect(mustEndMessage(calls)).toBe(true);
  });
});
