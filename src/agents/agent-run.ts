/**
 * The part of a run that agents work with. A run of a session has it, and so has the work of an agent as a tool inside
 * such a run.
 */
import type { Run } from "../engine/index.ts";
import type { OpenToolCall, OpenWork } from "../engine/open-work.ts";
import type { CloseCallsOptions, EmitOptions } from "../engine/run-contract.ts";
import type { PushResult } from "../engine/sequencer.ts";
import type { ToolEndEvent } from "../protocol/events.generated.ts";
import type { AnyEvent } from "../protocol/index.ts";

export interface AgentRun extends Pick<
  Run,
  | "sessionId"
  | "runId"
  | "requestId"
  | "message"
  | "request"
  | "signal"
  | "status"
  | "isBehind"
  | "ready"
  | "settled"
  | "now"
  | "enter"
  | "requestApproval"
  | "callClient"
  | "fail"
> {
  readonly work: Pick<
    OpenWork,
    "calls" | "findCall" | "hasUsedCallId" | "checkpoint" | "attempt" | "nodeRuns" | "startedAt"
  >;
  post(event: AnyEvent, options?: EmitOptions): PushResult;
  postUnit(events: readonly AnyEvent[], options?: EmitOptions & { readonly isHandled?: boolean }): PushResult;
  recallClient(callId: string, options?: EmitOptions): Promise<ToolEndEvent> | undefined;
  closeCalls(callIds: Iterable<string>, options?: CloseCallsOptions): void;
}

/** IDs of the open tool calls, in the node runs that `isIncluded` accepts. */
export function listOpenCalls(
  { work }: Pick<AgentRun, "work">,
  isIncluded: (call: OpenToolCall) => boolean = () => true,
): readonly string[] {
  return [...work.calls].flatMap((call) => (call.callId !== undefined && isIncluded(call) ? [call.callId] : []));
}
