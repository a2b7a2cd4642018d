/**
 * Answers for the user where a program asked: under `run` and `stream` nobody sits before a screen, so a program says
 * what may be done, or nothing may. It knows neither tools nor the conversation.
 *
 * Invariant: a question is answered, left to others by name, or ends with its run; none waits because nobody thought of
 * it.
 */
import type { ApprovalReply, Run } from "../engine/index.ts";
import { isJsonObject, isLoomError, type JsonObject, type ToolApprovalEvent } from "../protocol/index.ts";

export interface ApprovalQuestion {
  readonly sessionId: string;
  readonly runId: string;
  readonly requestId: string;
  readonly callId: string;
  readonly name: string;
  readonly arguments: JsonObject;
  /** Aborted when the run is over and nobody needs the answer. */
  readonly signal: AbortSignal;
}

/** A yes or a no; with a reason that the model reads, or with other arguments. */
export type ApprovalDecision =
  | boolean
  | { readonly approved: boolean; readonly reason?: string; readonly arguments?: JsonObject };

/** `wait`: the answer comes through the log, from another process or page, or the question runs out. */
export type Approve = "wait" | ((question: ApprovalQuestion) => ApprovalDecision | Promise<ApprovalDecision>);

const NOBODY = "Nobody can be asked for consent here. Go on without it, and say what was not done.";
const FAILED = "The consent could not be asked for.";

export interface AnswerQuestionOptions {
  readonly approve: Approve | undefined;
  readonly requestId: string;
  readonly report: (error: unknown) => void;
}

export async function answerQuestion(
  run: Run,
  event: ToolApprovalEvent,
  { approve, requestId, report }: AnswerQuestionOptions,
): Promise<void> {
  const { call_id: callId, name, arguments: asked } = event;
  if (approve === "wait" || callId === undefined) return;
  let reply: ApprovalReply = { callId, decision: "rejected", reason: NOBODY };
  if (approve !== undefined) {
    const { sessionId, runId, signal } = run;
    try {
      const decided = await approve({ sessionId, runId, requestId, callId, name, arguments: asked, signal });
      reply = readDecision(callId, decided);
    } catch (error) {
      if (run.status === "live") report(error);
      reply = { callId, decision: "rejected", reason: FAILED };
    }
  }
  if (run.status !== "live") return;
  try {
    await run.answerApproval(reply).durable;
  } catch (error) {
    // Somebody else was quicker, or the run is over.
    if (!isLoomError(error, "already_answered", "unknown_call", "run_ended", "cancelled")) report(error);
  }
}

/** Whatever is not a plain yes is a no: somebody who writes no types may give anything. */
function readDecision(callId: string, decided: unknown): ApprovalReply {
  const given = typeof decided === "object" ? decided : { approved: decided };
  const { approved, reason, arguments: edited } = (given ?? {}) as { readonly [name: string]: unknown };
  return {
    callId,
    decision: approved === true ? "approved" : "rejected",
    reason: typeof reason === "string" ? reason : undefined,
    arguments: isJsonObject(edited) ? edited : undefined,
  };
}
