/**
 * Executes a client's command on a session and returns the control frame that answers it.
 *
 * HTTP endpoints and sockets share this code: a command with the same ID is the same command on any transport. A
 * message is a command too. It is written to the log before anything else happens, so the same ID always yields the
 * same run, whichever process receives it and whenever.
 */
import { createHash } from "node:crypto";
import { MAX_ATTACHMENTS, sendCommand, type SendCommandOptions } from "../../engine/index.ts";
import type { Command, CommandOutcome, CommandState, Log } from "../../log/index.ts";
import { assertCommand, unknownSession } from "../../log/rules.ts";
import type { AckControl, ControlCommand, RefusalControl } from "../../protocol/control/index.ts";
import { findUpFrameForm } from "../../protocol/control/up.generated.ts";
import { type JsonObject, LoomError } from "../../protocol/index.ts";
import type { BlobStore } from "../blobs/blob-store.ts";
import { toPublicError } from "../guard/to-public-error.ts";
import { type CommandAuthor, findOwnSession, LOCAL_AUTHOR, ensureOwnSession, canAccess } from "./command-author.ts";
import { assertAgentAllowed } from "../auth/principal.ts";
import { CommandQueue } from "./command-queue.ts";
import { deriveRunId } from "./derive-run-id.ts";
import { describeAttachments } from "./describe-attachments.ts";
import { deriveTitle } from "./derive-title.ts";

/** Services and settings of `executeCommand`. Only `log` is required. */
export interface CommandHost {
  /** Log of the sessions. */
  readonly log: Log;
  /**
   * Makes sure that a process holds the session and executes its pending commands; see `RunDispatcher`. Without it,
   * messages wait in the log for a process with agents, and other commands are executed by this process. Must not
   * throw.
   */
  readonly dispatch?: (sessionId: string) => void;
  /** Returns the name of the agent that answers; throws `unknown_agent`. Default: every name is accepted. */
  readonly resolveAgent?: (name: string | undefined) => string;
  /** Store of attached files. Default: none; attachments are taken as the caller describes them. */
  readonly blobs?: Pick<BlobStore, "get">;
  /** Milliseconds to wait for the next message in line to start before the response says `pending`. Default: 250. */
  readonly beginMs?: number;
  /** How, and how long, to wait for the outcome of other commands. */
  readonly commands?: Omit<SendCommandOptions, "ensureHolder">;
  /**
   * Identity behind the commands; limits access to the author's own sessions. Default: a local author with access to
   * all.
   */
  readonly author?: CommandAuthor;
  /** Receives errors that the client did not cause. A string it returns is sent to the client as `error_id`. */
  readonly onError?: (error: unknown) => unknown;
}

/** A message for an agent, as a control frame. */
export type RunCommand = Extract<ControlCommand, { readonly type: "run" }>;
/** The control frame that answers a command: `ack` or `refusal`. */
export type CommandResponse = AckControl | RefusalControl;

const DEFAULT_BEGIN_MS = 250;
/** The same limit as for calls of an agent. */
const MAX_CONTEXT_BYTES = 16 * 1024;

/** One queue per log, shared by all transports, so that the commands of a session have one order. */
const queues = new WeakMap<Log, CommandQueue>();

function queueOf(log: Log): CommandQueue {
  const queue = queues.get(log) ?? new CommandQueue();
  queues.set(log, queue);
  return queue;
}

/** Resolves when every command received so far for the session is in the log or rejected. */
export function awaitSubmitted(log: Log, session: string): Promise<void> {
  return queueOf(log).settled(session);
}

/**
 * Runs `work` when every command received so far for the session is in the log. Later commands wait until `work` is
 * done.
 */
export function runInSessionQueue<R>(log: Log, session: string, work: () => Promise<R>): Promise<R> {
  return queueOf(log).run(session, work);
}

/**
 * Executes a command and returns an acknowledgement or a refusal. Never rejects.
 *
 * The commands of one session are written to the log in the order of the calls; responses may arrive in any order.
 */
export async function executeCommand(host: CommandHost, given: ControlCommand): Promise<CommandResponse> {
  const { log } = host;
  try {
    const command = dropUnknownFields(given);
    if (command.type === "run") return await enqueue(host, command);
    const submitted = await queueOf(log).run(command.session, async () => {
      const submitted = await toLogCommand(host, command);
      await log.submit(submitted);
      return submitted;
    });
    return toResponse(command, (await send(host, submitted)).outcome);
  } catch (error) {
    return toRefusal(host, error, { id: given.id, session: given.session });
  }
}

/** Unknown fields have no meaning: a command is the same with and without them. */
function dropUnknownFields<C extends ControlCommand>(given: C): C {
  const known = [...(findUpFrameForm(given.type)?.fields.keys() ?? [])];
  const fields = given as unknown as { readonly [field: string]: unknown };
  const picked = known.filter((name) => fields[name] !== undefined).map((name) => [name, fields[name]]);
  return { type: given.type, ...Object.fromEntries(picked) } as C;
}

/** Describes an error as a refusal, with what clients may see of it (see `toPublicError`). */
export function toRefusal(
  { onError }: Pick<CommandHost, "onError">,
  error: unknown,
  about: { readonly id?: string; readonly session?: string; readonly dialect?: string },
): RefusalControl {
  const { code, message, details, errorId } = toPublicError((thrown) => {
    const id = onError?.(thrown);
    return typeof id === "string" ? id : undefined;
  }, error);
  const known = { ...details, ...(errorId === undefined ? {} : { error_id: errorId }) };
  return { type: "refusal", ...about, code, message, ...(Object.keys(known).length === 0 ? {} : { details: known }) };
}

function send(host: CommandHost, command: Command, timeoutMs?: number): Promise<CommandState> {
  const { log, dispatch, commands } = host;
  return sendCommand(log, command, {
    ...commands,
    ...(dispatch === undefined ? {} : { ensureHolder: dispatch }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });
}

async function enqueue(host: CommandHost, command: RunCommand): Promise<CommandResponse> {
  const { log, dispatch, beginMs = DEFAULT_BEGIN_MS, author = LOCAL_AUTHOR } = host;
  const { session, message } = command;
  const { submitted, cancel } = await queueOf(log).run(session, async () => {
    // All of this runs in the queue of the session, so that later commands cannot overtake this one while its files
    // are looked up, and the owner cannot change.
    const info = await log.getSession(session);
    if (info !== undefined && !canAccess(author, info)) throw unknownSession(session);
    const known = info === undefined ? undefined : await log.getCommand(session, command.id);
    const submitted = await toEnqueueCommand(host, command, known);
    // Validate before creating or cancelling anything.
    assertCommand(submitted, log.limits);
    const isNew = known === undefined;
    // A repeated command gets its first result, even if the agent is gone or another run is live by now.
    const agent = isNew ? host.resolveAgent?.(command.agent) : undefined;
    const interrupt = info !== undefined && isNew ? await createInterrupt(log, command) : undefined;
    const newRun = { agent: agent ?? command.agent ?? "", session, run: readRunId(submitted), command: command.id };
    if (isNew) await author.admitRun?.(newRun);
    const title = info?.title === undefined ? deriveTitle(message) : undefined;
    // The first message creates the session and gives it a title.
    if (info === undefined) await ensureOwnSession(log, author, session, title === undefined ? {} : { title });
    if (interrupt !== undefined) await log.submit(interrupt);
    await log.submit(submitted);
    // Set the title only after `submit` has accepted the message.
    if (info !== undefined && title !== undefined) await log.renameSession(session, title, { onlyUntitled: true });
    return { submitted, cancel: interrupt };
  });
  dispatch?.(session);
  if (cancel !== undefined) await send(host, cancel);
  // Behind a live run the message may wait for long, so the response does not wait. It names the run in any case.
  const isNext = (await findLiveRun(log, session)) === undefined;
  const { outcome } = await send(host, submitted, isNext ? beginMs : 0);
  const answer = toResponse(command, outcome);
  return answer.type === "ack" ? { ...answer, result: { run_id: readRunId(submitted), ...answer.result } } : answer;
}

/**
 * The log entry of a message. A repeated message must be equal except for `when_busy`, which concerns only the moment
 * it was sent.
 */
async function toEnqueueCommand(
  { blobs, author = LOCAL_AUTHOR }: CommandHost,
  command: RunCommand,
  known: CommandState | undefined,
): Promise<Command> {
  const { id, session, type: _type, when_busy: _whenBusy, ...given } = command;
  const { message, context, attachments = [], run_id = deriveRunId(session, id) } = given;
  // As in agents: a message may consist of attachments only.
  if (message.trim() === "" && attachments.length === 0) throw new LoomError("invalid_command", "The message is empty");
  if (context !== undefined) {
    const bytes = Buffer.byteLength(JSON.stringify(context));
    if (bytes > MAX_CONTEXT_BYTES)
      throw new LoomError(
        "invalid_command",
        `\`context\` is limited to ${MAX_CONTEXT_BYTES} bytes of JSON; it has ${bytes}`,
        {
          limit: MAX_CONTEXT_BYTES,
        },
      );
  }
  // Check the count before the store is queried for each.
  if (attachments.length > MAX_ATTACHMENTS)
    throw new LoomError("invalid_command", `A message can have at most ${MAX_ATTACHMENTS} attachments`);
  const files = blobs === undefined ? attachments : await describeAttachments(blobs, session, attachments);
  const body = {
    ...given,
    ...(attachments.length === 0 ? {} : { attachments: files }),
    run_id,
    source: "stream",
    ...authorFields(author, known),
  } as unknown as JsonObject;
  return { commandId: id, sessionId: session, kind: "enqueue", body };
}

/**
 * The author recorded with a command. A repeated command keeps the author of the first, even if another credential
 * sends it.
 */
function authorFields({ actor, tools }: CommandAuthor, known: CommandState | undefined): JsonObject {
  const signed = known === undefined ? { actor, tools } : { actor: known.body["actor"], tools: known.body["tools"] };
  return Object.fromEntries(Object.entries(signed).filter(([, value]) => value !== undefined)) as JsonObject;
}

function readRunId({ body }: Command): string {
  return body["run_id"] as string;
}

/**
 * Returns the command that cancels the live run if the message interrupts it. Throws `run_live` if the message is to be
 * rejected instead.
 */
async function createInterrupt(log: Log, command: RunCommand): Promise<Command | undefined> {
  const { id, session, when_busy = "enqueue" } = command;
  if (when_busy === "enqueue") return undefined;
  // Read pending messages before the live run: a message that starts in between is then seen at least once.
  const waiting = when_busy === "reject" ? await log.listPending(session, log.limits.maxPendingCommands) : [];
  if (waiting.some(({ kind }) => kind === "enqueue"))
    throw new LoomError("run_live", "Another message is already waiting");
  const live = await findLiveRun(log, session);
  if (live === undefined) return undefined;
  if (when_busy === "reject") throw new LoomError("run_live", `Run ${live} is live`);
  // A hash keeps the ID short for any message ID. Including the run gives a repeated message that interrupts another
  // run a new ID.
  const digest = createHash("sha256")
    .update(JSON.stringify([id, live]))
    .digest("base64url");
  const body = { run_id: live, reason: "Interrupted by a new message" };
  return { commandId: `interrupt:${digest}`, sessionId: session, kind: "cancel", body };
}

async function toLogCommand(
  { log, author = LOCAL_AUTHOR }: CommandHost,
  command: Exclude<ControlCommand, RunCommand>,
): Promise<Command> {
  const { id: commandId, session: sessionId, type, ...given } = command;
  await findOwnSession(log, author, sessionId);
  const body = given as JsonObject;
  if (type === "cancel") return { commandId, sessionId, kind: "cancel", body };
  if (type === "todo") return { commandId, sessionId, kind: "toggle", body };
  const known = await log.getCommand(sessionId, commandId);
  const run_id = command.run_id ?? (await findTargetRun(log, sessionId, known));
  if (run_id === undefined)
    throw new LoomError("unknown_call", `No tool call ${command.call_id} is waiting for approval`);
  assertAgentAllowed(author, (await log.getRun(sessionId, run_id))?.agent);
  return { commandId, sessionId, kind: "approve", body: { ...body, run_id, ...authorFields(author, known) } };
}

/** The run an approval without `run_id` refers to: the live one, or for a repeated approval the same as before. */
async function findTargetRun(
  log: Log,
  sessionId: string,
  known: CommandState | undefined,
): Promise<string | undefined> {
  const runId = known?.body["run_id"];
  return typeof runId === "string" ? runId : findLiveRun(log, sessionId);
}

async function findLiveRun(log: Log, sessionId: string): Promise<string | undefined> {
  const [latest] = await log.listRuns(sessionId, { limit: 1 });
  return latest?.status === "live" ? latest.runId : undefined;
}

function toResponse({ id, session }: ControlCommand, outcome: CommandOutcome | undefined): CommandResponse {
  if (outcome === undefined) return { type: "ack", id, pending: true };
  const { code, message = code, eventId, details } = outcome;
  const given = details === undefined ? {} : { details };
  if (code !== "done") return { type: "refusal", id, session, code, message, ...given };
  const result = { ...details, ...(eventId === undefined ? {} : { event_id: eventId }) };
  return { type: "ack", id, ...(Object.keys(result).length === 0 ? {} : { result }) };
}
