/**
 * Answers the approval requests of `run` and `stream`. There is no user to ask, so the caller's `approve` decides;
 * without it, requests are rejected.
 *
 * Invariant: every request is answered, left to another process (`wait`), or ends with its run.
 */
import type { Run } from "../engine/index.ts";
import type { ApprovalReply } from "../engine/run-contract.ts";
import { isJsonObject, isLoomError, type JsonObject, LoomError } from "../protocol/index.ts";
import type { ToolApprovalEvent } from "../protocol/events.generated.ts";

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

const NO_APPROVER = "Approval is not available here. Continue without it and say what was not done.";
const APPROVAL_FAILED = "The approval request failed.";

export interface AnswerApprovalOptions {
  readonly approve: Approve | undefined;
  readonly requestId: string;
  readonly report: (error: unknown) => void;
}

/** Answers one approval request of a run. Does not throw; errors go to `report`. */
export async function answerApproval(
  run: Run,
  event: ToolApprovalEvent,
  { approve, requestId, report }: AnswerApprovalOptions,
): Promise<void> {
  const { call_id: callId, name, arguments: asked } = event;
  if (approve === "wait" || callId === undefined) return;
  let reply: ApprovalReply = { callId, decision: "rejected", reason: NO_APPROVER };
  if (approve !== undefined) {
    const { sessionId, runId, signal } = run;
    try {
      // A copy, because the call runs with the arguments of the request or those of the decision.
      const copy = structuredClone(asked);
      const decided = await approve({ sessionId, runId, requestId, callId, name, arguments: copy, signal });
      reply = readDecision(callId, decided);
    } catch (error) {
      if (run.status === "live") report(error);
      reply = { callId, decision: "rejected", reason: APPROVAL_FAILED };
    }
  }
  try {
    await sendReply(run, reply);
  } catch (error) {
    report(error);
    // The decision could not be written, but the request must not stay open.
    await sendReply(run, { callId, decision: "rejected", reason: APPROVAL_FAILED }).catch(report);
  }
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
