/**
 * Answers the approval requests of `run` and `stream`. There is no user to ask, so the caller's `approve` decides;
 * without it, requests are rejected and the run reports it.
 *
 * Invariant: every request is answered, left to another process (`wait`), or ends with its run.
 */
import type { Run } from "../engine/index.ts";
import type { ApprovalReply } from "../engine/run-contract.ts";
import { type ErrorCode, isLoomError, type JsonObject, LoomError } from "../protocol/index.ts";
import { isJsonObject } from "../protocol/json.ts";
import type { ErrorEvent, ToolApprovalEvent } from "../protocol/events.generated.ts";

/** A tool call that needs approval. */
export interface ApprovalQuestion {
  readonly sessionId: string;
  readonly runId: string;
  readonly requestId: string;
  readonly callId: string;
  /** Name of the tool. */
  readonly name: string;
  readonly arguments: JsonObject;
  /** Aborted when the run ends and the answer is no longer needed. */
  readonly signal: AbortSignal;
}

/** Approves or rejects a call, optionally with a reason for the model or with other arguments. */
export type ApprovalDecision =
  | boolean
  | { readonly approved: boolean; readonly reason?: string; readonly arguments?: JsonObject };

/**
 * Decides approval requests. `wait` leaves them to another process or client, which answers through the log, until they
 * expire.
 */
export type Approve = "wait" | ((question: ApprovalQuestion) => ApprovalDecision | Promise<ApprovalDecision>);

export interface AnswerApprovalOptions {
  /** The node run that asks. */
  readonly nodeId: string | undefined;
  readonly approve: Approve | undefined;
  readonly requestId: string;
  /** Returns the ID of the report. */
  readonly report: (error: unknown) => string;
}

/**
 * Answers one approval request of a run. Does not throw. If `approve` fails, the error goes to `report` and to the events
 * of the run, and the call is rejected with `approval_failed`.
 */
export async function answerApproval(
  run: Run,
  event: ToolApprovalEvent,
  { nodeId, approve, requestId, report }: AnswerApprovalOptions,
): Promise<void> {
  const { call_id: callId, name, arguments: asked } = event;
  if (approve === "wait" || callId === undefined) return;
  try {
    if (approve === undefined) {
      const message = `The tool ${name} needs approval and was not run. ${NO_APPROVE}`;
      run.emit(describeProblem(event, "approval_unavailable", message), { nodeId }).catch(report);
      return await sendReply(run, { callId, decision: "rejected", code: "approval_unavailable" });
    }
    const { sessionId, runId, signal } = run;
    // A copy, because the call runs with the arguments of the request or those of the decision.
    const copy = structuredClone(asked);
    const decided = await approve({ sessionId, runId, requestId, callId, name, arguments: copy, signal });
    await sendReply(run, readDecision(callId, decided));
  } catch (error) {
    // There is no decision, or it could not be written. The request must not stay open.
    if (run.status !== "live") return;
    const message = `The approval of ${name} failed because of an error in \`approve\``;
    const details = { error_id: report(error) };
    run.emit({ ...describeProblem(event, "approval_failed", message), details }, { nodeId }).catch(report);
    await sendReply(run, { callId, decision: "rejected", code: "approval_failed" }).catch(report);
  }
}

const NO_APPROVE = "Set the option `approve` of the agent or of the call, or answer the request with `events`";

function describeProblem({ call_id }: ToolApprovalEvent, code: ErrorCode, message: string): ErrorEvent {
  return { type: "error", message, code, stage: "tool_execute", recoverable: true, ...(call_id && { call_id }) };
}

async function sendReply(run: Run, reply: ApprovalReply): Promise<void> {
  if (run.status !== "live") return;
  try {
    await run.answerApproval(reply).durable;
  } catch (error) {
    // Another client answered first, or the run has ended.
    if (run.status === "live" && !isLoomError(error, "already_answered", "unknown_call")) throw error;
  }
}

/** Accepts only an explicit approval, because untyped code may return anything. */
function readDecision(callId: string, decided: unknown): ApprovalReply {
  const given = typeof decided === "object" ? decided : { approved: decided };
  const { approved, reason, arguments: edited } = (given ?? {}) as { readonly [name: string]: unknown };
  const words = typeof reason === "string" ? reason : undefined;
  if (approved !== true) return { callId, decision: "rejected", reason: words };
  if (edited === undefined) return { callId, decision: "approved", reason: words };
  // The caller approved other arguments, but they cannot be read.
  if (!isJsonObject(edited)) throw new LoomError("invalid_arguments", "Approved arguments must be an object");
  return { callId, decision: "approved", reason: words, arguments: structuredClone(edited) };
}
