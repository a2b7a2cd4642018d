/**
 * Answers for the user where a program asked: under `run` and `stream` nobody sits before a screen, so a program says
 * what may be done, or nothing may. It knows neither tools nor the conversation.
 *
 * Invariant: a question is answered, left to others by name, or ends with its run; none waits because nobody thought of
 * it.
 */
import type { ApprovalReply, Run } from "../engine/index.ts";
import { isJsonObject, isLoomError, type JsonObject, LoomError, type ToolApprovalEvent } from "../protocol/index.ts";

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
      // A copy: what is carried out is what was asked about, or what the answer says.
      const copy = structuredClone(asked);
      const decided = await approve({ sessionId, runId, requestId, callId, name, arguments: copy, signal });
      reply = readDecision(callId, decided);
    } catch (error) {
      if (run.status === "live") report(error);
      reply = { callId, decision: "rejected", reason: FAILED };
    }
  }
  try {
    await give(run, reply);
  } catch (error) {
    report(error);
    // It cannot be written, but the question must not stay open.
    await give(run, { callId, decision: "rejected", reason: FAILED }).catch(report);
  }
}

async function give(run: Run, reply: ApprovalReply): Promise<void> {
  if (run.status !== "live") return;
  try {
    await run.answerApproval(reply).durable;
  } catch (error) {
    // Somebody else was quicker, or the run is over.
    if (run.status === "live" && !isLoomError(error, "already_answered", "unknown_call")) throw error;
  }
}

/** Whatever is not a plain yes is a no: somebody who writes no types may give anything. */
function readDecision(callId: string, decided: unknown): ApprovalReply {
  const given = typeof decided === "object" ? decided : { approved: decided };
  const { approved, reason, arguments: edited } = (given ?? {}) as { readonly [name: string]: unknown };
  const words = typeof reason === "string" ? reason : undefined;
  if (approved !== true) return { callId, decision: "rejected", reason: words };
  if (edited === undefined) return { callId, decision: "approved", reason: words };
  // A yes to something else than was asked about, and nobody can say what.
  if (!isJsonObject(edited)) throw new LoomError("invalid_arguments", "arguments that are agreed to must be an object");
  return { callId, decision: "approved", reason: words, arguments: structuredClone(edited) };
}
