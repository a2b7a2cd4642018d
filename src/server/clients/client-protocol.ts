/**
 * What the protocols of other clients have in common. Each request is answered in the same steps: read the input, choose
 * the branch of the conversation, start a run there or answer the run that waits, and send this part of the run.
 *
 * The log is authoritative, and a protocol keeps nothing between requests: what a client sends back names the session,
 * the run and the place. What a protocol needs beyond these steps stays in its folder.
 */
import type { AckControl, ControlCommand } from "../../protocol/control/index.ts";
import { type ErrorCode, isLoomError, type LoomError } from "../../protocol/index.ts";
import type { ApiCall } from "../api/operation.ts";
import type { ServerCore } from "../api/server-core.ts";
import type { StartRun } from "../api/shapes.generated.ts";
import type { Caller } from "../auth/authorize.ts";
import { actionOf } from "../commands/execute-command.ts";
import { executeOrThrow } from "../endpoints/command-endpoint.ts";
import { startFromBody } from "../endpoints/runs.ts";
import type { ReadRequest } from "../streams/stream-reader.ts";
import { findNotice, type NoticeCode } from "./chat-notice.ts";
import { applyPolicy, authorizePolicy } from "./disconnect-policy.ts";

/** The part of a run that one response sends. A protocol adds where the part begins and ends. */
export interface RunPart {
  readonly session: string;
  readonly run: string;
  /** ID of the command that starts the run, for a run that may not have started. */
  readonly key?: string | undefined;
}

/** The call of an endpoint to which a client sends messages. A protocol adds the body. */
export type ClientCall = Pick<
  ApiCall<"DisconnectOptions", "Empty">,
  "request" | "caller" | "query" | "node" | "signal" | "upload"
>;

/** `C` is the call, `I` what the protocol reads from it, and `P` the part of the run that it sends. */
export interface ClientProtocol<C extends ClientCall, I, P extends RunPart> {
  /** Reads the request and checks its form. It looks nothing up. */
  readInput(core: ServerCore, call: C): I;
  /**
   * Chooses the session of the conversation. Starts a run there with `startPart`, or answers the run that waits with
   * `sendAnswers`. Authorizes the caller for it. A request that is repeated returns the same part.
   */
  startOrAnswer(core: ServerCore, call: C, input: I): Promise<P>;
  /** Sends the part with `sendRunPart`, to which it passes `leave`: what happens if the client disconnects. */
  sendPart(core: ServerCore, call: C, part: P, leave: Pick<ReadRequest, "onLeave">): Promise<Response>;
}

/** Answers the request of a client. */
export async function answerClient<C extends ClientCall, I, P extends RunPart>(
  core: ServerCore,
  call: C,
  protocol: ClientProtocol<C, I, P>,
): Promise<Response> {
  const { caller, query } = call;
  const input = protocol.readInput(core, call);
  await authorizePolicy(core, caller, query.on_disconnect);
  const part = await protocol.startOrAnswer(core, call, input);
  return protocol.sendPart(core, call, part, applyPolicy(core, caller, part, query.on_disconnect));
}

/** Permission to start a run in a session that may not exist yet, and to read its answer. */
export async function authorizeStart(core: ServerCore, caller: Caller, session: string): Promise<void> {
  await core.authorize({ caller, action: "runs.start", session });
  await core.authorize({ caller, action: "sessions.read" });
}

/** A run that a message started. */
export interface StartedPart extends RunPart {
  readonly key: string;
  /** What the client has to know about its message before the answer. */
  readonly notice?: NoticeCode | undefined;
}

interface StartOptions {
  readonly session: string;
  /** ID of the command. A message that is repeated with it is the same run. */
  readonly key: string;
  readonly body: StartRun;
  /** What the client has to know, unless the message waits for another run. */
  readonly notice?: NoticeCode | undefined;
}

/** Starts a run for a message, if the caller may start one in the session. */
export async function startPart(
  core: ServerCore,
  call: Pick<ClientCall, "caller" | "signal" | "upload">,
  { session, key, body, notice }: StartOptions,
): Promise<StartedPart> {
  await core.authorize({ caller: call.caller, action: "runs.start", session });
  const started = await startFromBody(core, { ...call, body }, session, key);
  return { ...started, notice: await findNotice(core, started, notice) };
}

type CommandOf<T extends ControlCommand["type"]> = Omit<
  Extract<ControlCommand, { readonly type: T }>,
  "id" | "session"
>;

/** What the client decided about a call, or the result of a call that it carried out. */
export type CallAnswer = CommandOf<"approve"> | CommandOf<"tool_result">;

/** What became of the answers. */
interface SentAnswers {
  readonly taken: readonly AckControl[];
  /** Why the first of the answers that came too late was refused. */
  readonly lateness: LoomError | undefined;
}

/** Errors of an answer that came too late: another client was faster, or the run does not wait any more. */
export const LATE: readonly ErrorCode[] = ["already_answered", "unknown_call"];

/**
 * Sends answers to the run of a session that waits for them. An answer that is refused with an error of `late` is left out;
 * any other error is thrown, and the answers after it are not sent.
 */
export async function sendAnswers(
  core: ServerCore,
  caller: Caller,
  session: string,
  answers: readonly (CallAnswer & { readonly id: string })[],
  late: readonly ErrorCode[] = LATE,
): Promise<SentAnswers> {
  for (const type of new Set(answers.map((answer) => answer.type)))
    await core.authorize({ caller, action: actionOf(type), session });
  const taken: AckControl[] = [];
  let lateness: LoomError | undefined;
  for (const answer of answers)
    try {
      taken.push(await executeOrThrow(core, caller, { ...answer, session }));
    } catch (error) {
      if (!isLoomError(error) || !late.includes(error.code)) throw error;
      lateness ??= error;
    }
  return { taken, lateness };
}
