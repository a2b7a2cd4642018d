/**
 * What the protocols of other clients have in common. Each request is answered in the same steps: read the input, choose
 * the branch of the conversation, start a run there or answer the run that waits, and send this slice of the run.
 *
 * From a message to the chunks of its answer:
 * - request → command: `startOrAnswer` of the protocol calls `startMessageRun`, and that `endpoints/runs.ts`.
 * - command → dispatcher: `commands/execute-command.ts` stores the command in the log and calls `runs/run-dispatcher.ts`.
 * - dispatcher → engine → log: `runs/held-sessions.ts` opens the session; `engine/session.ts` starts the run, and
 *   `engine/run-writer.ts` writes its records.
 * - log → reader → chunks: `sendSlice` calls `send-run-slice.ts`; `streams/session-reader.ts` reads the records as frames
 *   of the dialect, and `streams/stream-response.ts` writes them to the response.
 *
 * The log is authoritative, and a protocol keeps nothing between requests: what a client sends back names the session,
 * the run and the place. What a protocol needs beyond these steps stays in its folder.
 */
import { randomUUID } from "node:crypto";
import type { AckControl, ControlCommand } from "../../protocol/control/index.ts";
import { type ErrorCode, isLoomError, type LoomError } from "../../protocol/index.ts";
import type { ApiCall } from "../api/operation.ts";
import type { ServerCore } from "../api/server-core.ts";
import type { DisconnectOptions, StartRun } from "../api/shapes.generated.ts";
import type { Caller } from "../auth/authorize.ts";
import { actionOf, findLiveRun } from "../commands/execute-command.ts";
import { executeOrThrow } from "../endpoints/command-endpoint.ts";
import { startFromBody } from "../endpoints/runs.ts";
import type { ReadRequest } from "../streams/stream-reader.ts";

/** A slice of a run: what one response sends of it. A protocol adds where the slice begins and ends. */
export interface RunSlice {
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

/** `C` is the call, `I` what the protocol reads from it, and `S` the slice of the run that it sends. */
export interface ClientProtocol<C extends ClientCall, I, S extends RunSlice> {
  /** Reads the request and checks its form. It looks nothing up. */
  readInput(core: ServerCore, call: C): I;
  /**
   * Chooses the session of the conversation. Starts a run there with `startMessageRun`, or answers the run that waits with
   * `sendAnswers`. Authorizes the caller for it. A request that is repeated returns the same slice.
   */
  startOrAnswer(core: ServerCore, call: C, input: I): Promise<S>;
  /** Sends the slice with `sendRunSlice`, to which it passes `leave`: what happens if the client disconnects. */
  sendSlice(core: ServerCore, call: C, slice: S, leave: Pick<ReadRequest, "onLeave">): Promise<Response>;
}

/** Answers the request of a client. */
export async function answerClient<C extends ClientCall, I, S extends RunSlice>(
  core: ServerCore,
  call: C,
  protocol: ClientProtocol<C, I, S>,
): Promise<Response> {
  const { caller, query } = call;
  const input = protocol.readInput(core, call);
  await authorizePolicy(core, caller, query.on_disconnect);
  const slice = await protocol.startOrAnswer(core, call, input);
  return protocol.sendSlice(core, call, slice, applyPolicy(core, caller, slice, query.on_disconnect));
}

/** Permission to start a run in a session that may not exist yet, and to read its answer. */
export async function authorizeStart(core: ServerCore, caller: Caller, session: string): Promise<void> {
  await core.authorize({ caller, action: "runs.start", session });
  await core.authorize({ caller, action: "sessions.read" });
}

/** The slice of a run that a message started. */
export interface StartedSlice extends RunSlice {
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
export async function startMessageRun(
  core: ServerCore,
  call: Pick<ClientCall, "caller" | "signal" | "upload">,
  { session, key, body, notice }: StartOptions,
): Promise<StartedSlice> {
  // `authorizeStart` checked the session that the client named; this can be another version of the conversation.
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

// What a client has to know about its message before the answer. These protocols have no such frame; each sends it as
// application data.

/**
 * - `queued`: another run is live; the answer begins when it has ended.
 * - `missed_messages`: the conversation has messages that the client does not show. The message follows them.
 * - `new_version`: the same, and the message began a new version of the conversation without them.
 */
export type NoticeCode = "queued" | "missed_messages" | "new_version";

interface ChatNotice {
  readonly code: NoticeCode;
  readonly message: string;
}

const MESSAGES: { readonly [code in NoticeCode]: string } = {
  queued: "The message waits until the answer in progress has ended",
  missed_messages: "The conversation has messages that are not shown here; reload it to see them",
  new_version: "The conversation has messages that are not shown here; this message begins a new version without them",
};

export function isNoticeCode(value: unknown): value is NoticeCode {
  return typeof value === "string" && Object.hasOwn(MESSAGES, value);
}

export function createNotice(code: NoticeCode): ChatNotice {
  return { code, message: MESSAGES[code] };
}

/** Returns the code for a message that was accepted: that it waits, or else the other one. */
async function findNotice(
  { log }: Pick<ServerCore, "log">,
  { session, run }: RunSlice,
  other?: NoticeCode,
): Promise<NoticeCode | undefined> {
  const live = (await findLiveRun(log, session))?.runId;
  const isQueued = live !== undefined && live !== run && (await log.getRun(session, run)) === undefined;
  return isQueued ? "queued" : other;
}

// What happens to a run when the client that reads its stream disconnects. By default it continues. Clients whose stop
// button only closes the connection can request `on_disconnect=cancel`.

type DisconnectPolicy = DisconnectOptions["on_disconnect"];

/**
 * Call it before the run is started, so that a caller who may not cancel runs is refused. The session may not exist
 * yet.
 */
export async function authorizePolicy(core: ServerCore, caller: Caller, policy: DisconnectPolicy): Promise<void> {
  if (policy === "cancel") await core.authorize({ caller, action: "runs.control" });
}

/**
 * Returns what to pass to `sendStream`: with the policy `cancel`, the run is cancelled if the connection closes before
 * the stream has ended. Runs that have ended stay as they are.
 */
export function applyPolicy(
  core: ServerCore,
  caller: Caller,
  { session, run }: RunSlice,
  policy: DisconnectPolicy,
): Pick<ReadRequest, "onLeave"> {
  if (policy !== "cancel") return {};
  const cancel = async (): Promise<void> => {
    try {
      const command = {
        type: "cancel",
        id: randomUUID(),
        session,
        run_id: run,
        reason: "The client disconnected",
      } as const;
      await executeOrThrow(core, caller, command);
    } catch (error) {
      // A run that ended meanwhile needs no cancel.
      if (!isLoomError(error)) core.report(error);
    }
  };
  return { onLeave: () => void cancel() };
}
