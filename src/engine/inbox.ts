/**
 * Executes the commands of a session: see `CommandKind`.
 *
 * A command is settled in the same append as the record it produces. So each command is executed exactly once, even if
 * a process dies in between.
 *
 * Two kinds of commands stay pending: queued messages, and early cancels, which arrive before their run starts. A queued
 * message survives the process, and any session with an agent can execute it. An early cancel expires after a while.
 */
import { randomUUID } from "node:crypto";
import type { CommandOutcome, CommandState, Log, RunInfo, Settlement } from "../log/log.ts";
import { type ErrorCode, isLoomError, type JsonObject, LoomError, type LoomEvent } from "../protocol/index.ts";
import { BoundedMap } from "../protocol/bounded-map.ts";
import { dropUndefined } from "../protocol/drop-undefined.ts";
import { findToolRule } from "../protocol/tool-rules.ts";
import {
  type CommandTarget,
  invalidCommand,
  isTarget,
  readCallerRules,
  readCommand,
  readName,
  readTargetOf,
  readText,
  settleDone,
} from "./command-body.ts";
import type { Run } from "./run.ts";
import type { ApprovalReply, ClientCallReply, Settle } from "./run-contract.ts";
import { readQueuedMessage, type RunOrigin, writeQueuedMessage } from "./run-origin.ts";
import { markHandled, type PushResult } from "./sequencer.ts";
import type { SESSION_DEFAULTS, SessionOptions } from "./session-options.ts";
import type { SessionRecords } from "./session-records.ts";

/** Errors that settle a command. After any other error, the command stays pending. */
const COMMAND_ERRORS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "invalid_command",
  "invalid_event",
  "event_too_large",
  "unknown_call",
  "already_answered",
  "approval_mismatch",
  "forbidden",
  "unknown_todo",
  "unknown_run",
  "run_ended",
  "too_many_open",
]);

const MAX_ANSWERED = 1000;
const RUNS_SEARCHED = 100;
/** Maximum commands settled in one append. */
const MAX_SETTLED_AT_ONCE = 100;

export class Inbox {
  readonly #log: Log;
  readonly #records: SessionRecords;
  readonly #findLiveRun: () => Run | undefined;
  readonly #onWaiters: () => void;
  readonly #options: SessionOptions & typeof SESSION_DEFAULTS;
  /** Queued messages, oldest first. */
  #queue: CommandState[] = [];
  /** The callers in this process that wait for the run of a queued message, by command ID. */
  readonly #waiters = new Map<string, PromiseWithResolvers<Run>>();
  #earlyCancels: CommandState[] = [];
  /** Cancels without a matching run in the log. Only a run that starts later can match. */
  readonly #unmatchedCancels = new Set<string>();
  /** Cancels that expired in this pass. */
  #unknown: Settlement[] = [];
  /** The latest runs, read once per pass. */
  #latest: Promise<readonly RunInfo[]> | undefined;
  /** Approvals answered through this inbox, including those of ended runs. */
  readonly #answered = new BoundedMap<true>(MAX_ANSWERED);

  /** `onWaiters` is called when the number of waiting callers changes. */
  constructor(
    log: Log,
    records: SessionRecords,
    options: SessionOptions & typeof SESSION_DEFAULTS,
    findLiveRun: () => Run | undefined,
    onWaiters: () => void,
  ) {
    this.#log = log;
    this.#records = records;
    this.#options = options;
    this.#findLiveRun = findLiveRun;
    this.#onWaiters = onWaiters;
  }

  /** True if callers in this process wait for the run of a queued message. */
  get hasWaiters(): boolean {
    return this.#waiters.size > 0;
  }

  /** True if the last pass left no command pending. */
  get isEmpty(): boolean {
    return this.#queue.length === 0 && this.#earlyCancels.length === 0;
  }

  /**
   * Executes all commands that can be executed. Rejects when the log fails; commands that were not settled stay
   * pending.
   */
  async processPending(): Promise<void> {
    const pending = await this.#log.listPending(this.#records.sessionId, this.#log.limits.maxPendingCommands);
    this.#earlyCancels = [];
    this.#unknown = [];
    this.#latest = undefined;
    const ids = new Set(pending.map(({ commandId }) => commandId));
    for (const commandId of this.#unmatchedCancels) if (!ids.has(commandId)) this.#unmatchedCancels.delete(commandId);
    this.#queue = pending.filter(({ kind }) => kind === "enqueue");
    for (const command of pending) {
      try {
        await this.#execute(command);
      } catch (error) {
        if (!isLoomError(error) || !COMMAND_ERRORS.has(error.code)) throw error;
        await this.#settle({ commandId: command.commandId, outcome: { code: error.code, message: error.message } });
      }
    }
    for (let at = 0; at < this.#unknown.length; at += MAX_SETTLED_AT_ONCE)
      await this.#settle(...this.#unknown.slice(at, at + MAX_SETTLED_AT_ONCE));
  }

  /** Adds a message to the durable queue. `turn` resolves to its run. Throws `queue_full`. */
  async enqueue(origin: RunOrigin): Promise<{ readonly turn: Promise<Run> }> {
    const commandId = randomUUID();
    const { sessionId } = this.#records;
    const command = { commandId, sessionId, kind: "enqueue", body: writeQueuedMessage(origin) } as const;
    await this.#log.submit(command, { maxQueued: this.#options.maxQueuedRuns });
    const waiter = Promise.withResolvers<Run>();
    this.#waiters.set(commandId, waiter);
    this.#onWaiters();
    return { turn: markHandled(waiter.promise) };
  }

  /** Returns the first of the queued messages, if this session can execute it. */
  findNext(): CommandState | undefined {
    const { onRun, acceptsAgent } = this.#options;
    // Without `onRun`, this session executes only messages whose callers wait here.
    const next = this.#queue.find(({ commandId }) => onRun !== undefined || this.#waiters.has(commandId));
    const agent = next?.body["agent"];
    return typeof agent !== "string" || acceptsAgent?.(agent) !== false ? next : undefined;
  }

  /** Gives the run of a message to the caller that waits for it. Returns false if no caller does. */
  resolve(commandId: string, run: Run): boolean {
    const waiter = this.#takeWaiter(commandId);
    waiter?.resolve(run);
    return waiter !== undefined;
  }

  /** Removes a message from the queue and settles it with the error. */
  async reject(commandId: string, error: LoomError, ...settle: readonly Settlement[]): Promise<void> {
    this.drop(commandId);
    await this.#settle({ commandId, outcome: { code: error.code, message: error.message } }, ...settle);
    this.#takeWaiter(commandId)?.reject(error);
  }

  /** Rejects all callers that wait for a run. The messages stay in the queue. */
  rejectWaiters(error: LoomError): void {
    for (const commandId of this.#waiters.keys()) this.#takeWaiter(commandId)?.reject(error);
  }

  #takeWaiter(commandId: string): PromiseWithResolvers<Run> | undefined {
    const waiter = this.#waiters.get(commandId);
    this.#waiters.delete(commandId);
    this.#onWaiters();
    return waiter;
  }

  /** Removes a message from the queue. Its command is settled by its `run_start`. */
  drop(commandId: string): void {
    this.#queue = this.#queue.filter((command) => command.commandId !== commandId);
  }

  /** Returns and removes the early cancel of this run, if there is one. */
  takeEarlyCancel(origin: RunOrigin): CommandState | undefined {
    const [found, ...others] = this.#earlyCancels.filter(({ body }) => isTarget(readTarget(body), origin));
    if (found !== undefined) this.#earlyCancels = this.#earlyCancels.filter((command) => command !== found);
    // The other cancels may match the run that starts now.
    for (const { commandId } of others) this.#unmatchedCancels.delete(commandId);
    return found;
  }

  async #execute(command: CommandState): Promise<void> {
    switch (command.kind) {
      case "cancel":
        return this.#cancel(command);
      case "approve": {
        const reply = readReply(command);
        return this.#answer(command, reply.callId, (run, settle) => run.answerApproval(reply, settle));
      }
      case "tool_result": {
        const reply = readResult(command);
        return this.#answer(command, reply.callId, (run, settle) => run.answerCall(reply, settle));
      }
      case "permission":
        return this.#permit(command);
      case "feedback":
        return this.#rate(command);
      case "toggle":
        return this.#toggle(command);
      case "enqueue":
        return this.#checkMessage(command);
    }
  }

  async #cancel({ commandId, body, createdAt }: CommandState): Promise<void> {
    const target = readTarget(body);
    const reason = readText(body, "reason");
    const liveRun = this.#findLiveRun();
    if (liveRun !== undefined && isTarget(target, liveRun)) {
      await liveRun.cancel(reason, { settle: settleDone(commandId) });
      return;
    }
    const queued = this.#queue.filter((command) => isTarget(target, readTargetOf(command.body)));
    const isNamed = target.runId !== undefined || target.requestId !== undefined;
    const [first, ...others] = isNamed ? queued : [];
    if (first !== undefined) {
      const error = new LoomError("cancelled", reason ?? "cancelled before it started");
      for (const other of others) await this.reject(other.commandId, error);
      await this.reject(first.commandId, error, { commandId, outcome: done({ cancelled: first.commandId }) });
      return;
    }
    const statuses = isNamed && !this.#unmatchedCancels.has(commandId) ? await this.#findStatuses(target) : [];
    if (!isNamed || statuses.some((status) => status !== "live")) {
      await this.#settle({ commandId, outcome: done({ effect: false }) });
      return;
    }
    // A run that is live in the log but not here has just ended; the next pass finds it ended.
    if (statuses.length === 0) this.#unmatchedCancels.add(commandId);
    const { earlyCancelMs, maxEarlyCancels } = this.#options;
    const isLate = this.#records.now() - createdAt >= earlyCancelMs;
    if (!isLate && this.#earlyCancels.length < maxEarlyCancels) {
      this.#earlyCancels.push({ commandId, body, createdAt } as CommandState);
      return;
    }
    const message = isLate ? "No such run started in time" : `Too many cancels wait for their run (${maxEarlyCancels})`;
    this.#unknown.push({ commandId, outcome: { code: "unknown_run", message } });
  }

  /** Statuses of the stored runs that match the target. */
  async #findStatuses({ runId, requestId }: CommandTarget): Promise<readonly RunInfo["status"][]> {
    const { sessionId } = this.#records;
    if (runId !== undefined) {
      const run = await this.#log.getRun(sessionId, runId);
      return run === undefined ? [] : [run.status];
    }
    this.#latest ??= this.#log.listRuns(sessionId, { limit: RUNS_SEARCHED });
    return (await this.#latest).flatMap((run) => (run.requestId === requestId ? [run.status] : []));
  }

  /** Answers a call of the live run: an approval, or the result of a call that the client carried out. */
  async #answer(
    { commandId, kind, body }: CommandState,
    callId: string,
    answer: (run: Run, settle: Settle) => PushResult,
  ): Promise<void> {
    const runId = readName(body, "run_id");
    if (runId === undefined) throw invalidCommand("`run_id` is missing");
    const key = `${runId}\n${callId}`;
    const liveRun = this.#findLiveRun();
    if (liveRun?.runId !== runId) {
      if (this.#answered.get(key) === true)
        throw new LoomError("already_answered", `Call "${callId}" was already answered`);
      if (liveRun?.work.findCall(callId) !== undefined)
        throw new LoomError(
          kind === "approve" ? "approval_mismatch" : "unknown_call",
          `Call "${callId}" belongs to run "${liveRun.runId}", not to run "${runId}"`,
        );
      const [status = "live"] = await this.#findStatuses({ runId });
      if (status !== "live") throw new LoomError("run_ended", `Run "${runId}" has ended`);
      throw new LoomError("unknown_call", `No call "${callId}" waits for an answer`);
    }
    const { durable } = answer(liveRun, settleDone(commandId));
    this.#answered.set(key, true);
    await durable;
  }

  /** Allows all calls of a tool in the session, or ends that. Calls that wait are approved. */
  async #permit(command: CommandState): Promise<void> {
    const { body } = command;
    const { name, rule } = readCommand("permission", command);
    if (name === "") throw invalidCommand("`name` is empty");
    if (rule === "allow" && findToolRule([readCallerRules(body)], name) === "deny")
      throw new LoomError("forbidden", `The caller may not use ${name}, so it cannot allow it`);
    const allowed = this.#records.allowedTools;
    if (rule === "allow" && !allowed.has(name) && allowed.size >= MAX_ALLOWED)
      throw new LoomError(
        "too_many_open",
        `At most ${MAX_ALLOWED} tools can be allowed in a session; revoke one first`,
      );
    const actor = dropUndefined({ actor: readText(body, "actor") });
    const durable = this.#record(command, { type: "tool_permission", name, rule, ...actor });
    const run = rule === "allow" ? this.#findLiveRun() : undefined;
    run?.expireCalls();
    for (const { called, name: waiting, callId } of run?.work.waiting ?? []) {
      if (!called || waiting !== name || callId === undefined) continue;
      try {
        run?.answerApproval({ callId, decision: "approved", ...actor });
      } catch (error) {
        // It has expired since. The command has its outcome already, with the permission.
        if (!isLoomError(error, "already_answered")) throw error;
      }
    }
    await durable;
  }

  /** Stores the feedback of a user about the answer of a run. */
  async #rate(command: CommandState): Promise<void> {
    const { run_id: runId, rating, comment = "" } = readCommand("feedback", command);
    if (comment.length > MAX_COMMENT) throw invalidCommand(`\`comment\` has at most ${MAX_COMMENT} characters`);
    if ((await this.#findStatuses({ runId })).length === 0)
      throw new LoomError("unknown_run", `The session has no run "${runId}"`);
    const said = dropUndefined({
      comment: comment === "" ? undefined : comment.toWellFormed(),
      actor: readText(command.body, "actor"),
    });
    await this.#record(command, { type: "feedback", target_run_id: runId, rating, ...said });
  }

  /** Writes a record outside any run and settles the command with it. */
  #record({ commandId }: CommandState, event: LoomEvent): Promise<number> {
    const { durable } = this.#records.push([{ event }], {
      force: true,
      settle: [settleDone(commandId)(this.#records.sequencer.nextId)],
    });
    return durable;
  }

  async #toggle(command: CommandState): Promise<void> {
    const { list_id, item_id, completed, text } = readCommand("todo", command);
    if (completed === undefined && text === undefined) throw invalidCommand("`completed` or `text` is required");
    const changes = dropUndefined({ completed, text });
    await this.#record(command, { type: "todo_update", list_id, item_id, ...changes });
  }

  async #checkMessage({ commandId, body }: CommandState): Promise<void> {
    // An earlier cancel may have removed it.
    if (!this.#queue.some((command) => command.commandId === commandId)) return;
    try {
      readQueuedMessage(body);
    } catch (error) {
      if (!isLoomError(error, "invalid_command")) throw error;
      await this.reject(commandId, error);
    }
  }

  async #settle(...settle: readonly Settlement[]): Promise<void> {
    await this.#records.push([], { settle, force: true }).durable;
  }
}

/** Maximum tools that are allowed in a session. */
const MAX_ALLOWED = 100;
/** Maximum characters of the comment of a user; code `invalid_command`. */
const MAX_COMMENT = 4000;

function readReply(command: CommandState): ApprovalReply {
  const { call_id: callId, decision, arguments: edited, digest, reason } = readCommand("approve", command);
  const name = readText(command.body, "name");
  return { callId, decision, name, digest, arguments: edited, reason, ...readCaller(command) };
}

function readResult(command: CommandState): ClientCallReply {
  const { call_id: callId, output, is_error: isError } = readCommand("tool_result", command);
  return { callId, output, isError, ...readCaller(command) };
}

/** Reads what the server says about the caller. */
function readCaller({ body }: CommandState): Pick<ApprovalReply, "actor" | "toolRules"> {
  return { actor: readText(body, "actor"), toolRules: readCallerRules(body) };
}

function readTarget(body: JsonObject): CommandTarget {
  return { runId: readName(body, "run_id"), requestId: readName(body, "request_id") };
}

function done(details: JsonObject): CommandOutcome {
  return { code: "done", details };
}
