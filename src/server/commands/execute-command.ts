/**
 * Executes a client's command on a session and returns the control frame that answers it.
 *
 * HTTP endpoints and sockets share this code: a command with the same ID is the same command on any transport. A
 * message is a command too. It is written to the log before anything else happens, so the same ID always yields the
 * same run, whichever process receives it and whenever.
 */
import { createHash, hash } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { awaitOutcome } from "../../engine/send-command.ts";
import { MAX_ATTACHMENTS, readQueuedMessage } from "../../engine/run-origin.ts";
import { cutReason } from "../../engine/node-run.ts";
import type { Command, CommandState, Log, RunInfo } from "../../log/index.ts";
import type { CommandOutcome } from "../../log/log.ts";
import { assertCommand, sessionIdTaken } from "../../log/rules.ts";
import type { AckControl, ControlCommand, RefusalControl } from "../../protocol/control/index.ts";
import { findUpFrameForm } from "../../protocol/control/up.generated.ts";
import { isLoomError, type JsonObject, LoomError } from "../../protocol/index.ts";
import type { RunStartEvent } from "../../protocol/events.generated.ts";
import { fromJsonSchema } from "../../tools/from-json-schema.ts";
import type { BlobStore } from "../blobs/blob-store.ts";
import { findUnknownField } from "../guard/assert-known-fields.ts";
import { toPublicError } from "../guard/to-public-error.ts";
import { findOwnSession, LOCAL_AUTHOR, canAccess } from "./command-author.ts";
import { assertAgentAllowed } from "../auth/principal.ts";
import type { Action } from "../auth/scopes.ts";
import type { CommandHost } from "./command-host.ts";
import { deriveTitle } from "../../agents/derive-title.ts";
import { runInSessionQueue } from "./command-queue.ts";

/** A message for an agent, as a control frame. */
export type RunCommand = Extract<ControlCommand, { readonly type: "run" }>;
/** A command without its ID and session. */
export type CommandContent<C extends ControlCommand = ControlCommand> = C extends ControlCommand
  ? Omit<C, "id" | "session">
  : never;
/** The control frame that answers a command: `ack` or `refusal`. */
export type CommandResponse = AckControl | RefusalControl;

/**
 * The action a caller must be authorized for to send a command, over HTTP and sockets alike. Approving a tool call
 * needs its own permission.
 */
const ACTIONS: { readonly [type in ControlCommand["type"]]: Action } = {
  run: "runs.start",
  approve: "runs.approve",
  cancel: "runs.control",
  tool_result: "runs.control",
  permission: "runs.approve",
  feedback: "runs.control",
  todo: "runs.control",
};

export function actionOf(type: ControlCommand["type"]): Action {
  return ACTIONS[type];
}

/**
 * Derives the ID of a run from its command when the client gives none. The same command always has the same run ID, so
 * the response can name the run at once.
 */
export function deriveRunId(sessionId: string, commandId: string): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([sessionId, commandId]))
    .digest("base64url");
  return `run-${digest.slice(0, 22)}`;
}

const DEFAULT_BEGIN_MS = 250;
const DEFAULT_TIMEOUT_MS = 10_000;
/** The same limit as for calls of an agent. */
const MAX_CONTEXT_BYTES = 16 * 1024;

/**
 * Executes a command and returns an acknowledgement or a refusal. Never rejects.
 *
 * The commands of one session are written to the log in the order of the calls; responses may arrive in any order.
 */
export async function executeCommand(host: CommandHost, given: ControlCommand): Promise<CommandResponse> {
  const execute = (): Promise<CommandResponse> => executeNow(host, given);
  try {
    return await (host.audit === undefined ? execute() : host.audit(given, execute));
  } catch (error) {
    return toRefusal(host, error, { id: given.id, session: given.session });
  }
}

async function executeNow(host: CommandHost, given: ControlCommand): Promise<CommandResponse> {
  const { log } = host;
  try {
    const command = readKnownFields(given);
    if (command.type === "run") return await enqueue(host, command);
    const submitted = await runInSessionQueue(log, command.session, async () =>
      log.submit(await toLogCommand(host, command), { owner: requiredOwner(host) }),
    );
    return toResponse(command, (await settle(host, submitted)).outcome);
  } catch (error) {
    return toRefusal(host, error, { id: given.id, session: given.session });
  }
}

/** Returns the command with its fields in the declared order. Throws `invalid_command` for an unknown field. */
function readKnownFields<C extends ControlCommand>(given: C): C {
  const form = findUpFrameForm(given.type)?.fields ?? new Map<string, never>();
  const { type, ...fields } = given as C & { readonly [field: string]: unknown };
  const unknown = findUnknownField(form, fields);
  if (unknown !== undefined) {
    const { path, suggestion, message } = unknown;
    throw new LoomError("invalid_command", message, { path, ...(suggestion === undefined ? {} : { suggestion }) });
  }
  const picked = [...form.keys()].flatMap((name) =>
    fields[name] === undefined ? [] : [[name, fields[name]] as const],
  );
  return { type, ...Object.fromEntries(picked) } as C;
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

/** The owner that a session must have for the author's commands. Checked by the log when it stores a command. */
function requiredOwner({ author = LOCAL_AUTHOR }: CommandHost): string | undefined {
  return author.isAdmin ? undefined : author.owner;
}

/** Makes sure that a submitted command is executed, and waits for its outcome. */
async function settle(host: CommandHost, submitted: CommandState, givenMs?: number): Promise<CommandState> {
  const { log, dispatch, commands } = host;
  const { sessionId, kind } = submitted;
  const timeoutMs = givenMs ?? commands?.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const deadline = performance.now() + timeoutMs;
  const isExecuted = dispatch !== undefined && (await resolveWithin(dispatch(sessionId), timeoutMs)) === true;
  // Behind a live run a message may wait for long, so the response does not wait.
  const mayBeBehindRun = kind === "enqueue" && (isExecuted || (await findLiveRun(log, sessionId)) !== undefined);
  return awaitOutcome(log, submitted, {
    ...commands,
    ...(dispatch === undefined ? {} : { ensureHolder: dispatch }),
    timeoutMs: mayBeBehindRun ? 0 : deadline - performance.now(),
  });
}

/** Resolves to undefined after `ms`. */
async function resolveWithin<R>(work: Promise<R>, ms: number): Promise<R | undefined> {
  const timer = new AbortController();
  try {
    return await Promise.race([work, pause(ms, undefined, { signal: timer.signal })]);
  } finally {
    timer.abort();
  }
}

async function enqueue(host: CommandHost, command: RunCommand): Promise<CommandResponse> {
  const { log, beginMs = DEFAULT_BEGIN_MS, author = LOCAL_AUTHOR } = host;
  const { session } = command;
  const { submitted, cancel } = await runInSessionQueue(log, session, async () => {
    // All of this runs in the queue of the session, so that later commands cannot overtake this one while its files
    // are looked up.
    const known = await findCommand(log, session, command.id);
    const message = await toEnqueueCommand(host, command, known);
    // Validate before creating or cancelling anything.
    const request = readQueuedMessage(message.body);
    if (request.outputSchema !== undefined) fromJsonSchema(request.outputSchema);
    assertCommand(message, log.limits);
    const isNew = known === undefined;
    // A repeated command gets its first result, even if the agent is gone or another run is live by now.
    const agent = (isNew ? host.resolveAgent?.(command.agent, request) : undefined) ?? command.agent ?? "";
    const interrupt = isNew ? await createInterrupt(host, command) : undefined;
    if (isNew) await author.admitRun?.(agent);
    if (isNew) await host.beforeSubmit?.(agent);
    const owner = requiredOwner(host);
    const title = deriveTitle(command.message, readFiles(message));
    // The first message creates the session and gives it a title.
    const create = { owner: author.owner, ...(title === undefined ? {} : { title }) };
    const { maxQueued } = host;
    const { runLimit } = author;
    const onlyIfIdle = command.when_busy === "reject";
    const submitted = await log.submit(message, { owner, create, maxQueued, onlyIfIdle, runLimit, interrupt });
    return { submitted, cancel: interrupt && (await findCommand(log, session, interrupt.commandId)) };
  });
  if (cancel !== undefined) await settle(host, cancel);
  const { outcome } = await settle(host, submitted, beginMs);
  const answer = toResponse(command, outcome);
  return answer.type === "ack" ? { ...answer, result: { run_id: readRunId(submitted), ...answer.result } } : answer;
}

/** Returns undefined if the session or the command does not exist. */
export async function findCommand(log: Log, session: string, id: string): Promise<CommandState | undefined> {
  try {
    return await log.getCommand(session, id);
  } catch (error) {
    if (isLoomError(error, "unknown_session")) return undefined;
    throw error;
  }
}

/**
 * The log entry of a message. A repeated message must be equal except for fields about the request, such as `when_busy`,
 * which concerns only the moment it was sent.
 */
async function toEnqueueCommand(
  { blobs, author = LOCAL_AUTHOR, notices = [] }: CommandHost,
  command: RunCommand,
  known: CommandState | undefined,
): Promise<Command> {
  const { id, session, type: _type, when_busy: _whenBusy, capabilities, request_id, instructions, ...given } = command;
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
    ...keepFirst(
      {
        actor: author.actor,
        tools: author.tools,
        capabilities,
        request_id,
        instructions,
        ...(notices.length === 0 ? {} : { notices }),
      },
      known,
    ),
  } as unknown as JsonObject;
  return { commandId: id, sessionId: session, kind: "enqueue", body };
}

type AttachmentRecord = NonNullable<RunStartEvent["attachments"]>[number];

/**
 * Describes the attachments of a message for the log. The blobs must exist; their content is not read. Returns the same
 * descriptions for the same files, so that a repeated message stays equal. Throws `unknown_blob`.
 */
function describeAttachments(
  blobs: Pick<BlobStore, "get">,
  sessionId: string,
  attachments: readonly { readonly blob_id: string; readonly name?: string }[],
): Promise<readonly AttachmentRecord[]> {
  return Promise.all(
    attachments.map(async ({ blob_id, name }) => {
      const info = await blobs.get(sessionId, blob_id);
      if (info === undefined)
        throw new LoomError("unknown_blob", `Session "${sessionId}" has no blob ${blob_id.slice(0, 80)}`, { blob_id });
      const called = name ?? info.name;
      const { blobId, mediaType: media_type, bytes } = info;
      return { blob_id: blobId, ...(called === undefined ? {} : { name: called }), media_type, bytes };
    }),
  );
}

/**
 * Fields about the request rather than the command. A repeated command keeps those of the first request, also if another
 * credential or endpoint sends it.
 */
function keepFirst(fields: { readonly [name: string]: unknown }, known: CommandState | undefined): JsonObject {
  const kept = Object.entries(fields).map(([name, value]) => [name, known === undefined ? value : known.body[name]]);
  return Object.fromEntries(kept.filter(([, value]) => value !== undefined)) as JsonObject;
}

/** The files of a message, as the log stores them. */
function readFiles({ body }: Command): readonly { readonly name?: string }[] {
  return (body["attachments"] ?? []) as readonly { readonly name?: string }[];
}

function readRunId({ body }: Command): string {
  return body["run_id"] as string;
}

/** Returns the command that cancels the live run if the message interrupts it. */
async function createInterrupt(host: CommandHost, command: RunCommand): Promise<Command | undefined> {
  const { log, author = LOCAL_AUTHOR } = host;
  const { id, session, when_busy } = command;
  const info = when_busy === "interrupt" ? await log.getSession(session) : undefined;
  if (info === undefined) return undefined;
  if (!canAccess(author, info)) throw sessionIdTaken(session);
  const live = (await findLiveRun(log, session))?.runId;
  if (live === undefined) return undefined;
  // A hash keeps the ID short for any message ID. Including the run gives a repeated message that interrupts another
  // run a new ID.
  const digest = hash("sha256", JSON.stringify([id, live]), "base64url");
  const body = { run_id: live, reason: "Interrupted by a new message" };
  return { commandId: `interrupt:${digest}`, sessionId: session, kind: "cancel", body };
}

async function toLogCommand(
  { log, author = LOCAL_AUTHOR }: CommandHost,
  command: Exclude<ControlCommand, RunCommand>,
): Promise<Command> {
  const { id: commandId, session: sessionId, type, ...given } = command;
  const body = given as JsonObject;
  // The log keeps only the beginning of a reason, and settled commands do not count in the quota of the owner.
  if (type === "cancel") return { commandId, sessionId, kind: "cancel", body: cutReasonOf(body) };
  if (type === "todo") return { commandId, sessionId, kind: "toggle", body };
  if (type === "permission" || type === "feedback") {
    await findOwnSession(log, author, sessionId);
    // The tool would also be allowed for agents that this author may not use.
    if (type === "permission" && body["rule"] === "allow" && author.agents !== undefined)
      throw new LoomError("forbidden", "A credential for some agents cannot allow a tool in the whole session");
    const about = { actor: author.actor, ...(type === "permission" ? { tools: author.tools } : {}) };
    const fields = keepFirst(about, await log.getCommand(sessionId, commandId));
    return { commandId, sessionId, kind: type, body: { ...body, ...fields } };
  }
  // An answer to a call of a run: an approval, or the result of a call that the client carries out.
  await findOwnSession(log, author, sessionId);
  const known = await log.getCommand(sessionId, commandId);
  const run_id = command.run_id ?? (await findTargetRun(log, sessionId, known));
  if (run_id === undefined)
    throw new LoomError("unknown_call", `No tool call ${command.call_id} is waiting for an answer`);
  assertAgentAllowed(author, (await log.getRun(sessionId, run_id))?.agent);
  const fields = keepFirst({ actor: author.actor, tools: author.tools }, known);
  return { commandId, sessionId, kind: type, body: { ...body, run_id, ...fields } };
}

function cutReasonOf(body: JsonObject): JsonObject {
  const { reason } = body;
  return typeof reason === "string" ? { ...body, reason: cutReason(reason) } : body;
}

/** The run an answer without `run_id` refers to: the live one, or for a repeated answer the same as before. */
async function findTargetRun(
  log: Log,
  sessionId: string,
  known: CommandState | undefined,
): Promise<string | undefined> {
  const runId = known?.body["run_id"];
  return typeof runId === "string" ? runId : (await findLiveRun(log, sessionId))?.runId;
}

/** A session has at most one live run, and it is the newest. */
export async function findLiveRun(log: Log, sessionId: string): Promise<RunInfo | undefined> {
  const [latest] = await log.listRuns(sessionId, { limit: 1 });
  return latest?.status === "live" ? latest : undefined;
}

function toResponse({ id, session }: ControlCommand, outcome: CommandOutcome | undefined): CommandResponse {
  if (outcome === undefined) return { type: "ack", id, pending: true };
  const { code, message = code, eventId, details } = outcome;
  const given = details === undefined ? {} : { details };
  if (code !== "done") return { type: "refusal", id, session, code, message, ...given };
  const result = { ...details, ...(eventId === undefined ? {} : { event_id: eventId }) };
  return { type: "ack", id, ...(Object.keys(result).length === 0 ? {} : { result }) };
}
