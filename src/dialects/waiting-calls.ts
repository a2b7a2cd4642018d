/**
 * Decides where a message ends because its run waits for the client: for an approval, or for the result of a call that
 * the client carries out. For dialects whose clients answer with a new request. Plain data, because encoders are saved.
 *
 * The run may write more while calls wait, and an encoder has no look-ahead. The calls of one model answer run in
 * parallel, so the message ends when all of them that have not ended wait. A call of a nested agent counts without the
 * call that runs the agent. Nothing else in the run can wait for the client, so every message ends.
 */

import type { EventOf } from "../protocol/index.ts";

/** Maximum number of unfinished calls; those beyond it are not considered. */
const MAX_CALLS = 10_000;

/** The unfinished calls of one run. `Request` is what the client is asked. */
export class WaitingCalls<Request> {
  /** Node run of the model answer that each call belongs to. */
  readonly nodes = new Map<string, string>();
  readonly waiting = new Map<string, Request>();
  /** Calls whose request is in the current message. */
  readonly asked = new Set<string>();
  /** True if a call began to wait, was answered or ended in the current message. */
  hasChanged = false;
}

/** True for the start of a call that the client carries out. */
export function isClientCall({ executor }: Pick<EventOf<"tool_start">, "executor">): boolean {
  return executor === "client";
}

export function addPendingCall(calls: WaitingCalls<unknown>, id: string, node: string): void {
  if (calls.nodes.size < MAX_CALLS || calls.nodes.has(id)) calls.nodes.set(id, node);
}

/** The call waits for the client, and its request is in the current message. */
export function addWaitingCall<Request>(calls: WaitingCalls<Request>, id: string, request: Request): void {
  if (calls.waiting.size >= MAX_CALLS) return;
  calls.waiting.set(id, request);
  calls.asked.add(id);
  calls.hasChanged = true;
}

/** The client has answered. */
export function removeWaitingCall(calls: WaitingCalls<unknown>, id: string): void {
  if (calls.waiting.delete(id)) calls.hasChanged = true;
}

export function removePendingCall(calls: WaitingCalls<unknown>, id: string): void {
  removeWaitingCall(calls, id);
  if (calls.nodes.delete(id)) calls.hasChanged = true;
}

/**
 * True if the message ends here. Call it after each record. Returns false for records after which the client has nothing
 * new to answer.
 */
export function mustEndMessage({ nodes, waiting, hasChanged }: WaitingCalls<unknown>): boolean {
  if (!hasChanged || waiting.size === 0) return false;
  const busy = new Set([...nodes].flatMap(([id, node]) => (waiting.has(id) ? [] : [node])));
  return [...waiting.keys()].some((id) => {
    const node = nodes.get(id);
    return node === undefined || !busy.has(node);
  });
}

/** Ends the message. Returns the requests that wait and are not in it: clients look only at the latest message. */
export function endMessage<Request>(calls: WaitingCalls<Request>): readonly Request[] {
  const missing = [...calls.waiting].flatMap(([id, request]) => (calls.asked.has(id) ? [] : [request]));
  calls.asked.clear();
  calls.hasChanged = false;
  return missing;
}
