/**
 * Carries out what others ask of a session: cancel, approve, toggle, enqueue. A command is answered in the same append
 * as the record it becomes, so it is carried out exactly once, whatever dies when.
 *
 * Two kinds of commands go on waiting in the log: messages whose turn has not come, and a cancel whose run has not
 * appeared. The second is given up after a while.
 */
import type { CommandOutcome, CommandState, Log, RunInfo, Settlement } from "../log/log.ts";
import {
  BoundedMap,
  type ErrorCode,
  findEventFault,
  isJsonObject,
  isLoomError,
  isToolRules,
  type JsonObject,
  LoomError,
  type ToolRules,
} from "../protocol/index.ts";
import type { Run } from "./run.ts";
import type { ApprovalReply, RunOrigin } from "./run-contract.ts";
import type { Draft, Pushed, PushOptions } from "./sequencer.ts";

export interface InboxHost {
  readonly log: Log;
  readonly sessionId: string;
  readonly now: () => number;
  liveRun(): Run | undefined;
  /** The id the next record gets. */
  nextId(): number;
  push(drafts: readonly Draft[], options?: PushOptions): Pushed;
  /** A message was taken out of the queue, and will not start. */
  onRefused(commandId: string, error: LoomError): void;
}

export interface InboxOptions {
  /** Messages that wait for their turn; code `queue_full`. */
  readonly maxQueuedRuns: number;
  /** How long a cancel waits for a run nobody has heard of; then `unknown_run`. */
  readonly cancelAheadMs: number;
  /** Cancels that wait so; more are answered `unknown_run` at once. */
  readonly maxCancelsAhead: number;
}

interface Target {
  readonly runId: string | undefined;
  readonly requestId: string | undefined;
}

/** What a command can be answered with. Any other error is not the command's fault, and it waits on. */
const ANSWERS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "invalid_command",
  "invalid_event",
  "event_too_large",
  "unknown_call",
  "already_answered",
  "approval_mismatch",
  "forbidden",
  "unknown_todo",
  "run_ended",
]);

const MAX_ANSWERED = 1000;
const RUNS_SEARCHED = 100;
/** Answers that go into one append. */
const MAX_SETTLED_AT_ONCE = 100;

export class Inbox {
  readonly #host: InboxHost;
  readonly #options: InboxOptions;
  #queue: CommandState[] = [];
  #aheads: CommandState[] = [];
  /** Cancels whose run was looked for in vain: only a run that begins from now on can be theirs. */
  readonly #lookedUp = new Set<string>();
  /** Cancels that are given up in this pass. */
  #unknown: Settlement[] = [];
  /** The latest runs, read once in a pass. */
  #latest: Promise<readonly RunInfo[]> | undefined;
  /** Questions answered through this inbox, also those of runs that are over. */
  readonly #answered = new BoundedMap<true>(MAX_ANSWERED);

  constructor(host: InboxHost, options: InboxOptions) {
    this.#host = host;
    this.#options = options;
  }

  /** Messages that wait for their turn, in order. */
  get queue(): readonly CommandState[] {
    return this.#queue;
  }

  /** Nothing waits that the last pass has seen. */
  get isEmpty(): boolean {
    return this.#queue.length === 0 && this.#aheads.length === 0;
  }

  /** Carries out all that can be. Rejects when the log fails; what was not done then still waits. */
  async pass(): Promise<void> {
    const { log, sessionId } = this.#host;
    const pending = await log.listPending(sessionId, log.limits.maxPendingCommands);
    this.#aheads = [];
    this.#unknown = [];
    this.#latest = undefined;
    const ids = new Set(pending.map(({ commandId }) => commandId));
    for (const commandId of this.#lookedUp) if (!ids.has(commandId)) this.#lookedUp.delete(commandId);
    this.#queue = pending.filter(({ kind }) => kind === "enqueue");
    for (const command of pending) {
      try {
        await this.#carryOut(command);
      } catch (error) {
        if (!isLoomError(error) || !ANSWERS.has(error.code)) throw error;
        await this.#settle({ commandId: command.commandId, outcome: { code: error.code, message: error.message } });
      }
    }
    for (let at = 0; at < this.#unknown.length; at += MAX_SETTLED_AT_ONCE)
      await this.#settle(...this.#unknown.slice(at, at + MAX_SETTLED_AT_ONCE));
    for (const { commandId } of this.#queue.slice(this.#options.maxQueuedRuns))
      await this.refuse(commandId, new LoomError("queue_full", `${this.#options.maxQueuedRuns} messages wait already`));
  }

  /** Takes a message out of the queue for good. */
  async refuse(commandId: string, error: LoomError, ...settle: readonly Settlement[]): Promise<void> {
    this.drop(commandId);
    await this.#settle({ commandId, outcome: { code: error.code, message: error.message } }, ...settle);
    this.#host.onRefused(commandId, error);
  }

  /** The message's turn has come, and its command is answered by its run_start. */
  drop(commandId: string): void {
    this.#queue = this.#queue.filter((command) => command.commandId !== commandId);
  }

  /** The cancel that came before its run, if one did. */
  takeAhead(origin: RunOrigin): CommandState | undefined {
    const [found, ...others] = this.#aheads.filter(({ body }) => isTarget(readTarget(body), origin));
    if (found !== undefined) this.#aheads = this.#aheads.filter((command) => command !== found);
    // Now there is a run they may have meant.
    for (const { commandId } of others) this.#lookedUp.delete(commandId);
    return found;
  }

  async #carryOut(command: CommandState): Promise<void> {
    switch (command.kind) {
      case "cancel":
        await this.#cancel(command);
        return;
      case "approve":
        await this.#approve(command);
        return;
      case "toggle":
        await this.#toggle(command);
        return;
      case "enqueue":
        await this.#checkMessage(command);
        return;
    }
  }

  async #cancel({ commandId, body, createdAt }: CommandState): Promise<void> {
    const target = readTarget(body);
    const reason = readText(body, "reason");
    const liveRun = this.#host.liveRun();
    if (liveRun !== undefined && isTarget(target, liveRun)) {
      await liveRun.cancel(reason, { settle: (eventId) => ({ commandId, outcome: { code: "done", eventId } }) });
      return;
    }
    const queued = this.#queue.filter((command) => isTarget(target, readTargetOf(command)));
    const isNamed = target.runId !== undefined || target.requestId !== undefined;
    const [first, ...others] = isNamed ? queued : [];
    if (first !== undefined) {
      const error = new LoomError("cancelled", reason ?? "cancelled before it started");
      for (const other of others) await this.refuse(other.commandId, error);
      await this.refuse(first.commandId, error, { commandId, outcome: done({ cancelled: first.commandId }) });
      return;
    }
    const statuses = isNamed && !this.#lookedUp.has(commandId) ? await this.#findStatuses(target) : [];
    if (!isNamed || statuses.some((status) => status !== "live")) {
      await this.#settle({ commandId, outcome: done({ effect: false }) });
      return;
    }
    // One that the log holds as live has just ended, and will be found so.
    if (statuses.length === 0) this.#lookedUp.add(commandId);
    const { cancelAheadMs, maxCancelsAhead } = this.#options;
    const isLate = this.#host.now() - createdAt >= cancelAheadMs;
    if (!isLate && this.#aheads.length < maxCancelsAhead) {
      this.#aheads.push({ commandId, body, createdAt } as CommandState);
      return;
    }
    const message = isLate ? "no such run appeared" : `${maxCancelsAhead} cancels wait for their runs already`;
    this.#unknown.push({ commandId, outcome: { code: "unknown_run", message } });
  }

  /** Of the runs in the log that are meant. */
  async #findStatuses({ runId, requestId }: Target): Promise<readonly RunInfo["status"][]> {
    const { log, sessionId } = this.#host;
    if (runId !== undefined) {
      const run = await log.getRun(sessionId, runId);
      return run === undefined ? [] : [run.status];
    }
    this.#latest ??= log.listRuns(sessionId, { limit: RUNS_SEARCHED });
    return (await this.#latest).flatMap((run) => (run.requestId === requestId ? [run.status] : []));
  }

  async #approve({ commandId, body }: CommandState): Promise<void> {
    const runId = readName(body, "run_id");
    const reply = readReply(body);
    if (runId === undefined) throw invalid("`run_id` is missing");
    const key = `${runId}\n${reply.callId}`;
    const liveRun = this.#host.liveRun();
    if (liveRun?.runId !== runId) {
      if (this.#answered.get(key) === true)
        throw new LoomError("already_answered", `call ${reply.callId} was answered before`);
      if (liveRun?.work.findCall(reply.callId) !== undefined)
        throw new LoomError("approval_mismatch", `call ${reply.callId} is of run ${liveRun.runId}, not of ${runId}`);
      const [status = "live"] = await this.#findStatuses({ runId, requestId: undefined });
      if (status !== "live") throw new LoomError("run_ended", `run ${runId} is over`);
      throw new LoomError("unknown_call", `there is no call ${reply.callId} that waits`);
    }
    const settle = (eventId: number): Settlement => ({ commandId, outcome: { code: "done", eventId } });
    const { durable } = liveRun.answerApproval(reply, settle);
    this.#answered.set(key, true);
    await durable;
  }

  async #toggle({ commandId, body }: CommandState): Promise<void> {
    const { completed, text } = body;
    const list_id = readName(body, "list_id");
    const item_id = readName(body, "item_id");
    if (list_id === undefined || item_id === undefined) throw invalid("`list_id` and `item_id` must be texts");
    const hasState = typeof completed === "boolean";
    if (!hasState && completed != null) throw invalid("`completed` must be true or false");
    const hasText = typeof text === "string";
    if (!hasText && text != null) throw invalid("`text` must be a text");
    if (!hasState && !hasText) throw invalid("neither `completed` nor `text` is given");
    const event = {
      type: "todo_update",
      list_id,
      item_id,
      ...(hasState ? { completed } : {}),
      ...(hasText ? { text } : {}),
    } as const;
    const { durable } = this.#host.push([{ event }], {
      force: true,
      settle: [{ commandId, outcome: { code: "done", eventId: this.#host.nextId() } }],
    });
    await durable;
  }

  async #checkMessage({ commandId, body }: CommandState): Promise<void> {
    // A cancel before it may have taken it out.
    if (!this.#queue.some((command) => command.commandId === commandId)) return;
    try {
      readOrigin(body);
    } catch (error) {
      if (!isLoomError(error, "invalid_command")) throw error;
      await this.refuse(commandId, error);
    }
  }

  async #settle(...settle: readonly Settlement[]): Promise<void> {
    await this.#host.push([], { settle, force: true }).durable;
  }
}

/** Files that may come with one message; code `invalid_command`. */
export const MAX_ATTACHMENTS = 20;

/** What an `enqueue` asks for. */
export function readOrigin(body: JsonObject): Partial<RunOrigin> {
  const source = readText(body, "source");
  if (source !== undefined && source !== "execute" && source !== "stream") throw invalid("`source` is unknown");
  const { context } = body;
  if (context != null && !isJsonObject(context)) throw invalid("`context` must be an object");
  return {
    runId: readName(body, "run_id"),
    requestId: readName(body, "request_id"),
    message: readText(body, "message"),
    agent: readName(body, "agent"),
    source,
    context: context ?? undefined,
    attachments: readAttachments(body),
    actor: readName(body, "actor"),
    toolRules: readRules(body),
  } as Partial<RunOrigin>;
}

/** Of whoever asks, as the server knows them. */
function readRules({ tools }: JsonObject): ToolRules | undefined {
  if (tools == null) return undefined;
  if (!isToolRules(tools)) throw invalid("`tools` must say allow, ask or deny for each tool");
  return tools;
}

function readAttachments({ attachments }: JsonObject): RunOrigin["attachments"] {
  if (attachments == null) return undefined;
  const fault = findEventFault({ type: "run_start", attachments });
  if (fault !== undefined || !Array.isArray(attachments)) throw invalid("`attachments` must be a list of files");
  if (attachments.length > MAX_ATTACHMENTS) throw invalid(`a message may have ${MAX_ATTACHMENTS} attachments`);
  return attachments as RunOrigin["attachments"];
}

function readReply(body: JsonObject): ApprovalReply {
  const callId = readName(body, "call_id");
  const { decision, arguments: edited } = body;
  if (callId === undefined) throw invalid("`call_id` is missing");
  if (decision !== "approved" && decision !== "rejected") throw invalid("`decision` must be approved or rejected");
  if (edited != null && !isJsonObject(edited)) throw invalid("`arguments` must be an object");
  return {
    callId,
    decision,
    name: readText(body, "name"),
    digest: readText(body, "digest"),
    arguments: edited ?? undefined,
    reason: readText(body, "reason"),
    actor: readText(body, "actor"),
    toolRules: readRules(body),
  };
}

function readTarget(body: JsonObject): Target {
  return { runId: readName(body, "run_id"), requestId: readName(body, "request_id") };
}

/** Of a message that may be malformed: that is for its own answer to say. */
function readTargetOf({ body: { run_id, request_id } }: CommandState): Target {
  return {
    runId: typeof run_id === "string" ? run_id : undefined,
    requestId: typeof request_id === "string" ? request_id : undefined,
  };
}

/** True when all that the command names is this run's; a command that names nothing means the live run. */
function isTarget({ runId, requestId }: Target, run: { runId?: string | undefined; requestId?: string | undefined }) {
  if (runId !== undefined && run.runId !== runId) return false;
  return requestId === undefined || run.requestId === requestId;
}

function readText(body: JsonObject, name: string): string | undefined {
  const value = body[name];
  if (value == null) return undefined;
  if (typeof value !== "string") throw invalid(`\`${name}\` must be a text`);
  return value;
}

/** What something is found by again: with half a character in it, it would be found under another. */
function readName(body: JsonObject, name: string): string | undefined {
  const text = readText(body, name);
  if (text?.isWellFormed() === false) throw invalid(`\`${name}\` has half a character in it`);
  return text;
}

function done(details: JsonObject): CommandOutcome {
  return { code: "done", details };
}

function invalid(message: string): LoomError {
  return new LoomError("invalid_command", message);
}
