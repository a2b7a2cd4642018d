/**
 * Carries out what a user asks of a session, and says what came of it as a control frame. The same for every door:
 * a command that comes by HTTP and one that comes by a socket have one id and are one command. A message is one too: it
 * is written into the log before anything is done about it, so that the same id is the same run, whichever process is
 * asked and whenever.
 */
import { createHash } from "node:crypto";
import { MAX_ATTACHMENTS, sendCommand, type SendCommandOptions } from "../../engine/index.ts";
import type { Command, CommandOutcome, CommandState, Log } from "../../log/index.ts";
import { assertCommand, unknownSession } from "../../log/rules.ts";
import type { AckControl, ControlCommand, RefusalControl } from "../../protocol/control/index.ts";
import { findUpFrameForm } from "../../protocol/control/up.generated.ts";
import { type JsonObject, LoomError } from "../../protocol/index.ts";
import type { BlobStore } from "../blobs/blob-store.ts";
import { tellError } from "../tell-error.ts";
import { assertAgent, type CommandAuthor, findOwn, LOCAL_AUTHOR, makeOwn, mayTouch } from "./command-author.ts";
import { CommandDesk } from "./command-desk.ts";
import { deriveRunId } from "./derive-run-id.ts";
import { describeAttachments } from "./describe-attachments.ts";
import { deriveTitle } from "./derive-title.ts";

export interface CommandHost {
  readonly log: Log;
  /**
   * Sees to it that somebody holds the session and carries out what waits there; see `RunDesk`. Without it messages wait
   * in the log for a process that has agents, and other commands are carried out by whoever asks. Never throws.
   */
  readonly attend?: (sessionId: string) => void;
  /** Throws `unknown_agent` where no agent has this name. Without it every name is taken. */
  readonly resolveAgent?: (name: string | undefined) => string;
  /** Where the files of messages are. Without it, whoever asks has described them. */
  readonly blobs?: Pick<BlobStore, "get">;
  /** How long a message that is next is waited for to begin before the answer says that it waits; 250 when absent. */
  readonly beginMs?: number;
  /** How long to wait for the outcome of other commands, and how. */
  readonly commands?: Omit<SendCommandOptions, "attend">;
  /** Who asks; nobody in particular when absent. Their own sessions are all there are for them. */
  readonly author?: CommandAuthor;
  /** Told of errors that are not the caller's fault. */
  readonly onError?: (error: unknown) => unknown;
}

export type RunCommand = Extract<ControlCommand, { readonly type: "run" }>;
export type Answer = AckControl | RefusalControl;

const BEGIN_MS = 250;
/** As for the calls of an agent. */
const MAX_CONTEXT_BYTES = 16 * 1024;

/** One for all doors before a log: what two of them are asked has one order, and one id is one command. */
const desks = new WeakMap<Log, CommandDesk>();

function deskOf(log: Log): CommandDesk {
  const desk = desks.get(log) ?? new CommandDesk();
  desks.set(log, desk);
  return desk;
}

/** Resolves when all that was asked of the session so far is written down, or refused. */
export function awaitWritten(log: Log, session: string): Promise<void> {
  return deskOf(log).awaitLine(session);
}

/** Runs `work` when all that was asked of the session so far is written down: nothing is written in between. */
export function inLine<R>(log: Log, session: string, work: () => Promise<R>): Promise<R> {
  return deskOf(log).inTurn(session, work);
}

/** Never rejects. Those of one session are written down in the order of the calls; answers come in any order. */
export async function carryOut(host: CommandHost, given: ControlCommand): Promise<Answer> {
  const { log } = host;
  try {
    const command = pickKnown(given);
    if (command.type === "run") return await enqueue(host, command);
    const asked = await deskOf(log).inTurn(command.session, async () => {
      const written = await toCommand(host, command);
      await log.submit(written);
      return written;
    });
    return toAnswer(command, (await send(host, asked)).outcome);
  } catch (error) {
    return refuse(host, error, { id: given.id, session: given.session });
  }
}

/** Unknown fields mean nothing: with and without them it is the same command. */
function pickKnown<C extends ControlCommand>(given: C): C {
  const known = [...(findUpFrameForm(given.type)?.fields.keys() ?? [])];
  const fields = given as unknown as { readonly [field: string]: unknown };
  const picked = known.filter((name) => fields[name] !== undefined).map((name) => [name, fields[name]]);
  return { type: given.type, ...Object.fromEntries(picked) } as C;
}

/** What may cross the wire of an error: that of one which is not ours stays here. */
export function refuse(
  { onError }: Pick<CommandHost, "onError">,
  error: unknown,
  about: { readonly id?: string; readonly session?: string; readonly dialect?: string },
): RefusalControl {
  const { code, message, details, errorId } = tellError((thrown) => {
    const id = onError?.(thrown);
    return typeof id === "string" ? id : undefined;
  }, error);
  const known = { ...details, ...(errorId === undefined ? {} : { error_id: errorId }) };
  return { type: "refusal", ...about, code, message, ...(Object.keys(known).length === 0 ? {} : { details: known }) };
}

function send(host: CommandHost, command: Command, timeoutMs?: number): Promise<CommandState> {
  const { log, attend, commands } = host;
  return sendCommand(log, command, {
    ...commands,
    ...(attend === undefined ? {} : { attend }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });
}

async function enqueue(host: CommandHost, command: RunCommand): Promise<Answer> {
  const { log, attend, beginMs = BEGIN_MS, author = LOCAL_AUTHOR } = host;
  const { session, message } = command;
  const { asked, cancel } = await deskOf(log).inTurn(session, async () => {
    // In its turn already: what comes after it must not pass while its files are looked up, nor another come to own it.
    const info = await log.getSession(session);
    if (info !== undefined && !mayTouch(author, info)) throw unknownSession(session);
    const known = info === undefined ? undefined : await log.getCommand(session, command.id);
    const asked = await toMessage(host, command, known);
    // Before anything is made or cancelled for it.
    assertCommand(asked, log.limits);
    const isNew = known === undefined;
    // Asked again it is what it was, even if the agent is gone or somebody else is busy by now.
    const agent = isNew ? host.resolveAgent?.(command.agent) : undefined;
    const first = info !== undefined && isNew ? await findWhatIsInTheWay(log, command) : undefined;
    const begun = { agent: agent ?? command.agent ?? "", session, run: readRunId(asked), command: command.id };
    if (isNew) await author.admitRun?.(begun);
    const title = info?.title === undefined ? deriveTitle(message) : undefined;
    // The first message makes the session, and names it where nobody has.
    if (info === undefined) await makeOwn(log, author, session, title === undefined ? {} : { title });
    if (first !== undefined) await log.submit(first);
    await log.submit(asked);
    // One that was refused names nothing.
    if (info !== undefined && title !== undefined) await log.renameSession(session, title, { onlyUntitled: true });
    return { asked, cancel: first };
  });
  attend?.(session);
  if (cancel !== undefined) await send(host, cancel);
  // Behind a run it may wait for long; the answer names its run in any case.
  const isNext = (await findLiveRun(log, session)) === undefined;
  const { outcome } = await send(host, asked, isNext ? beginMs : 0);
  const answer = toAnswer(command, outcome);
  return answer.type === "ack" ? { ...answer, result: { run_id: readRunId(asked), ...answer.result } } : answer;
}

/** What is written down of a message. Who asks again must ask for the same: `when_busy` is about the moment. */
async function toMessage(
  { blobs, author = LOCAL_AUTHOR }: CommandHost,
  command: RunCommand,
  known: CommandState | undefined,
): Promise<Command> {
  const { id, session, type: _type, when_busy: _whenBusy, ...given } = command;
  const { message, context, attachments = [], run_id = deriveRunId(session, id) } = given;
  // As agents have it: a file alone says something.
  if (message.trim() === "" && attachments.length === 0)
    throw new LoomError("invalid_command", "the message is empty: there is nothing to answer");
  if (context !== undefined) {
    const bytes = Buffer.byteLength(JSON.stringify(context));
    if (bytes > MAX_CONTEXT_BYTES)
      throw new LoomError("invalid_command", `\`context\` may have ${MAX_CONTEXT_BYTES} bytes as JSON, not ${bytes}`, {
        limit: MAX_CONTEXT_BYTES,
      });
  }
  // Before the store is asked for each.
  if (attachments.length > MAX_ATTACHMENTS)
    throw new LoomError("invalid_command", `a message may have ${MAX_ATTACHMENTS} attachments`);
  const files = blobs === undefined ? attachments : await describeAttachments(blobs, session, attachments);
  const body = {
    ...given,
    ...(attachments.length === 0 ? {} : { attachments: files }),
    run_id,
    source: "stream",
    ...signatureOf(author, known),
  } as unknown as JsonObject;
  return { commandId: id, sessionId: session, kind: "enqueue", body };
}

/** Who asked first, and what their runs may do: asked for again by another credential, it is what it was. */
function signatureOf({ actor, tools }: CommandAuthor, known: CommandState | undefined): JsonObject {
  const signed = known === undefined ? { actor, tools } : { actor: known.body["actor"], tools: known.body["tools"] };
  return Object.fromEntries(Object.entries(signed).filter(([, value]) => value !== undefined)) as JsonObject;
}

function readRunId({ body }: Command): string {
  return body["run_id"] as string;
}

/** What must be cancelled first; throws `run_live` where the message shall rather not be. */
async function findWhatIsInTheWay(log: Log, command: RunCommand): Promise<Command | undefined> {
  const { id, session, when_busy = "enqueue" } = command;
  if (when_busy === "enqueue") return undefined;
  // What waits first, and what runs then: a message whose turn comes in between is seen at least once.
  const waiting = when_busy === "reject" ? await log.listPending(session, log.limits.maxPendingCommands) : [];
  if (waiting.some(({ kind }) => kind === "enqueue")) throw new LoomError("run_live", "a message waits already");
  const live = await findLiveRun(log, session);
  if (live === undefined) return undefined;
  if (when_busy === "reject") throw new LoomError("run_live", `run ${live} is going`);
  // An id of its own, however long the message's is; another one for another run, should this be asked again.
  const digest = createHash("sha256")
    .update(JSON.stringify([id, live]))
    .digest("base64url");
  const body = { run_id: live, reason: "interrupted by a new message" };
  return { commandId: `interrupt:${digest}`, sessionId: session, kind: "cancel", body };
}

async function toCommand(
  { log, author = LOCAL_AUTHOR }: CommandHost,
  command: Exclude<ControlCommand, RunCommand>,
): Promise<Command> {
  const { id: commandId, session: sessionId, type, ...given } = command;
  await findOwn(log, author, sessionId);
  const body = given as JsonObject;
  if (type === "cancel") return { commandId, sessionId, kind: "cancel", body };
  if (type === "todo") return { commandId, sessionId, kind: "toggle", body };
  const known = await log.getCommand(sessionId, commandId);
  const run_id = command.run_id ?? (await findRunAsked(log, sessionId, known));
  if (run_id === undefined) throw new LoomError("unknown_call", `there is no call ${command.call_id} that waits`);
  assertAgent(author, (await log.getRun(sessionId, run_id))?.agent);
  return { commandId, sessionId, kind: "approve", body: { ...body, run_id, ...signatureOf(author, known) } };
}

/** The run that is meant by an answer that names none: the live one; asked again, the same as before. */
async function findRunAsked(log: Log, sessionId: string, known: CommandState | undefined): Promise<string | undefined> {
  const asked = known?.body["run_id"];
  return typeof asked === "string" ? asked : findLiveRun(log, sessionId);
}

async function findLiveRun(log: Log, sessionId: string): Promise<string | undefined> {
  const [latest] = await log.listRuns(sessionId, { limit: 1 });
  return latest?.status === "live" ? latest.runId : undefined;
}

function toAnswer({ id, session }: ControlCommand, outcome: CommandOutcome | undefined): Answer {
  if (outcome === undefined) return { type: "ack", id, pending: true };
  const { code, message = code, eventId, details } = outcome;
  const given = details === undefined ? {} : { details };
  if (code !== "done") return { type: "refusal", id, session, code, message, ...given };
  const result = { ...details, ...(eventId === undefined ? {} : { event_id: eventId }) };
  return { type: "ack", id, ...(Object.keys(result).length === 0 ? {} : { result }) };
}
