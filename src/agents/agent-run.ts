/**
 * The part of a run that agents work with. A run of a session has it, and so has the work of an agent as a tool inside
 * such a run.
 */
import type { Run } from "../engine/index.ts";

export interface AgentRun extends Pick<
  Run,
  | "sessionId"
  | "runId"
  | "requestId"
  | "message"
  | "attachments"
  | "reasoning"
  | "toolRules"
  | "signal"
  | "status"
  | "isBehind"
  | "ready"
  | "settled"
  | "now"
  | "enter"
  | "post"
  | "postUnit"
  | "requestApproval"
  | "closeCalls"
  | "fail"
> {
  readonly work: Pick<Run["work"], "calls" | "findCall" | "hasUsedCallId" | "checkpoint" | "attempt" | "nodeRuns">;
}
