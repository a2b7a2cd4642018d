/**
 * A session written by this process. It holds the lease, has one live run at a time, executes commands, and recovers
 * after a dead process or a failing log. It knows no connections: runs live without them.
 *
 * Starting runs, executing commands and repairs are serialized, so that each sees the effects of the one before.
 */
import { randomUUID } from "node:crypto";
import { BackOff } from "../log/back-off.ts";
import { describeHolder } from "../log/holder.ts";
import type { AcquiredLease, CommandState, Log, LogEntry, RunInfo } from "../log/log.ts";
import { releaseLease } from "../log/release-lease.ts";
import { assertLog, assertName } from "../log/rules.ts";
import { waitLonger } from "../log/wait-longer.ts";
import { type AnyEvent, isLoomError, LoomError } from "../protocol/index.ts";
import { mayLackRun } from "../protocol/record.ts";
import { AnswerText } from "./answer-text.ts";
import { checkEvent } from "./check-event.ts";
import { settleDone } from "./command-body.ts";
import { RunExecutor } from "./run-executor.ts";
import { ErrorReporter } from "./error-reporter.ts";
import { Inbox } from "./inbox.ts";
import { LeaseKeeper, RENEWALS_PER_LEASE } from "./lease-keeper.ts";
import { OpenWork } from "./open-work.ts";
import { endInterrupted, INTERRUPTED, listLiveRuns, type RecoveredRun, recoverRun, restoreRun } from "./recovery.ts";
import { Run } from "./run.ts";
import type { Settle } from "./run-contract.ts";
import { createRunStart, readQueuedMessage, readRunStart, type RunOrigin } from "./run-origin.ts";
import {
  type CloseOptions,
  type RunRequest,
  SESSION_DEFAULTS,
  type SessionEnd,
  type SessionOptions,
} from "./session-options.ts";
import { markHandled } from "./sequencer.ts";
import { SessionRecords } from "./session-records.ts";
import { Waker } from "./waker.ts";

/**
 * Opens a session for writing: takes its lease, recovers the runs of its last writer and starts to execute commands.
 *
 * Throws `lease_held` if another process writes the session. Close the session to release the lease.
 *
 * ```ts
 * await using session = await openSession(log, "support-42");
 * const run = await session.startRun({ message: "Hello" });
 * await run.span("answer", (node) => node.write("Hi!"));
 * await run.finish();
 * ```
 */
export async function openSession(log: Log, sessionId: string, options: SessionOptions = {}): Promise<Session> {
  assertLog(log);
  return waitLonger(log, () => Session.open(log, sessionId, options));
}

/** Errors of a message whose run cannot start. */
const UNWRITABLE = ["run_exists", "invalid_name", "invalid_event", "event_too_large", "batch_too_large"] as const;

/**
 * A session that this process writes. Open it with `openSession`, start runs with `startRun`, and close it to release
 * its lease.
 */
export class Session implements AsyncDisposable {
  readonly sessionId: string;
  readonly log: Log;
  readonly #options: SessionOptions & typeof SESSION_DEFAULTS;
  readonly #reporter: ErrorReporter;
  readonly #records: SessionRecords;
  readonly #keeper: LeaseKeeper;
  readonly #waker: Waker;
  readonly #backOff: BackOff;
  readonly #inbox: Inbox;
  readonly #executor: RunExecutor;
  readonly #recovered: RecoveredRun[] = [];
  readonly #ended = Promise.withResolvers<SessionEnd>();
  readonly #wasHandedOver: boolean;
  #lastTask: Promise<unknown> = Promise.resolve();
  #live: Run | undefined;
  /** A recovered run that waits for the user and ends when the user has answered: it cannot be resumed here. */
  #abandoned: Run | undefined;
  /** A recovered run that was left for another process. */
  #left: Run | undefined;
  #stopped: LoomError | undefined;
  #hasEnded = false;
  #isDraining = false;
  #renewals = 0;
  #closing: Promise<void> | undefined;
  #unwatch: () => void = () => undefined;

  private constructor(log: Log, lease: AcquiredLease, options: SessionOptions) {
    this.sessionId = lease.sessionId;
    this.log = log;
    this.#wasHandedOver = lease.wasHandedOver;
    this.#options = { ...SESSION_DEFAULTS, ...options };
    this.#reporter = new ErrorReporter(options.onError);
    this.#records = new SessionRecords(
      log,
      lease,
      this.#options,
      this.#reporter,
      (error) => this.#onFailure(error),
      ({ runId }) => this.#onEnd(runId),
    );
    this.#keeper = new LeaseKeeper(log, lease, {
      ttlMs: this.#options.ttlMs,
      onLost: (error) => this.#fence(error),
      onRenewed: () => this.#onRenewed(),
    });
    this.#waker = new Waker(this.#options.inboxMs, () => this.executePending());
    this.#backOff = new BackOff(this.#options.repairMs, () => this.repair());
    this.#inbox = new Inbox(
      log,
      this.#records,
      this.#options,
      () => this.#live,
      () => this.#updateKeepAlive(),
    );
    this.#executor = new RunExecutor(this.#reporter);
  }

  /** See `openSession`. @internal */
  static async open(log: Log, sessionId: string, options: SessionOptions): Promise<Session> {
    const { ttlMs = SESSION_DEFAULTS.ttlMs, takeover = false, create = true, holder = describeHolder() } = options;
    const lease = await log.acquire(sessionId, { holder, ttlMs, takeover, create });
    try {
      const session = new Session(log, lease, options);
      await session.#init(lease);
      return session;
    } catch (error) {
      await releaseLease(log, lease);
      options.onEnd?.(sessionId);
      throw error;
    }
  }

  async #init({ todoLists, toolPermissions, liveRuns }: AcquiredLease): Promise<void> {
    try {
      await this.#records.load(this.log, [...todoLists, ...toolPermissions]);
      await this.#runExclusive(() => this.#recover(liveRuns));
    } catch (error) {
      this.#stopped ??= new LoomError("session_closed", "The session could not be opened", {}, { cause: error });
      this.#live?.abort(this.#stopped);
      this.#stopTimers();
      this.#keeper.stop();
      throw error;
    }
    this.#unwatch = this.log.watch(this.sessionId, () => this.#waker.hint(), { commandsOnly: true });
    this.#updateKeepAlive();
    this.#waker.hint();
  }

  /** Recovers the runs of the last writer, oldest first. A session has one live run, so only the last one can continue. */
  async #recover(dead: readonly RunInfo[]): Promise<void> {
    const mayLeave = this.#options.deadRuns === "leave" && this.#options.onRun === undefined;
    const options = { ...this.#options, mayLeave, wasHandedOver: this.#wasHandedOver };
    for (const [index, info] of dead.entries()) {
      const run = (this.#live = await this.#restore(info));
      const isLast = index === dead.length - 1;
      const { outcome, completion } = isLast ? recoverRun(run, options) : endInterrupted(run);
      this.#recovered.push({ runId: run.runId, outcome });
      if (outcome === "resumed") this.#executor.execute(run, async () => completion);
      else await completion;
      if (outcome === "left") this.#left = run;
      if (outcome !== "waiting") continue;
      this.#abandoned = run;
      void run.approvalsSettled().then(() => this.#waker.wake());
    }
  }

  /** Outcome of each run that was live when the session was opened. */
  get recovered(): readonly RecoveredRun[] {
    return this.#recovered;
  }

  /** The live run of the session, if there is one. */
  get liveRun(): Run | undefined {
    return this.#live;
  }

  /** True if no run is live and no command is pending, as of the last check. */
  get isIdle(): boolean {
    return this.#live === undefined && !this.#inbox.hasWaiters && this.#inbox.isEmpty;
  }

  /**
   * Stops starting runs: queued messages wait for the next holder of the session. Other commands are still executed.
   * Resolves when no run is being started.
   */
  async drain(): Promise<void> {
    this.#isDraining = true;
    await this.#lastTask;
  }

  /** Resolves when this process no longer writes the session, with the reason. */
  get closed(): Promise<SessionEnd> {
    return this.#ended.promise;
  }

  /**
   * Calls `listener` with each batch of entries that becomes durable, in order. Returns a function that removes the
   * listener.
   */
  onCommit(listener: (entries: readonly LogEntry[]) => void): () => void {
    return this.#records.onCommit(listener);
  }

  /** Starts a run. If another run is live, `whenBusy` decides. Resolves when `run_start` is durable. */
  async startRun(request: RunRequest = {}): Promise<Run> {
    const started = await this.#runExclusive(() => this.#startOrQueue(request));
    return "run" in started ? started.run : started.turn;
  }

  /**
   * Writes an event outside any run, such as a to-do list or `custom`; see `mayLackRun`. Resolves to its ID when it is
   * durable.
   */
  record(event: AnyEvent): Promise<number> {
    return markHandled(this.#record(event));
  }

  async #record(event: AnyEvent): Promise<number> {
    this.#assertOpen();
    if (this.#records.sequencer.failure !== undefined) await this.repair();
    try {
      const checked = checkEvent(event);
      if (mayLackRun(checked)) return await this.#records.push([{ event: checked }]).durable;
      throw new LoomError("invalid_event", `\`${checked.type}\` must belong to a run`, { path: "type" });
    } catch (error) {
      this.#reporter.reportRejection(error);
      throw error;
    }
  }

  /**
   * Recovers from a log failure: finds the end of the log and fails the interrupted run. Rejects while the log still
   * fails.
   */
  async repair(): Promise<void> {
    await this.#runExclusive(() => this.#repair());
  }

  /**
   * Executes the pending commands that can be executed now. Resolves when their outcomes are durable; a message behind
   * a live run stays pending.
   */
  async executePending(): Promise<void> {
    await this.#runExclusive(() => this.#processCommands());
  }

  /** Executes pending commands. Resolves when this process cannot execute any more of them. */
  async idle(): Promise<void> {
    for (;;) {
      await this.executePending();
      if (this.#executor.size === 0) return;
      await this.#executor.settled();
    }
  }

  /** Waits until everything is durable and releases the lease. */
  close({ run = "interrupt" }: CloseOptions = {}): Promise<void> {
    this.#closing ??= this.#close(run);
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(how: "interrupt" | "leave"): Promise<void> {
    if (this.#stopped !== undefined) return;
    const error = new LoomError("session_closed", `Session "${this.sessionId}" is closed`);
    this.#stopped = error;
    this.#stopTimers();
    await this.#lastTask;
    const live = this.#live;
    let handsOver = false;
    if (live !== undefined) {
      const waits = live.work.needsAnswer;
      const isLeft = live === this.#left;
      // A run that was not continued here stays in the state in which its last process left it.
      handsOver = isLeft ? this.#wasHandedOver : how === "leave" || waits;
      if (how === "leave" || waits || isLeft) live.abort(error);
      else await live.fail({ ...INTERRUPTED, message: "The session was closed" }).catch(() => undefined);
    }
    this.#inbox.rejectWaiters(error);
    await this.#records.sequencer.idle().catch(() => undefined);
    this.#records.sequencer.fail(error);
    this.#keeper.stop();
    await releaseLease(this.log, this.#keeper.lease, { handsOver });
    this.#end({ reason: "closed" });
  }

  #onRenewed(): void {
    if (this.#records.sequencer.failure !== undefined) void this.repair().catch(() => this.#backOff.plan());
    // Commands that wait can expire, and the hint of another one may have been lost.
    else if (this.#waker.hasFailed || !this.#inbox.isEmpty || ++this.#renewals % RENEWALS_PER_LEASE === 0)
      this.#waker.hint();
  }

  /** Keeps the process alive for a live run, for callers that wait for one, and for messages that `onRun` executes. */
  #updateKeepAlive(): void {
    const isNeeded = this.#live !== undefined || this.#inbox.hasWaiters || this.#options.onRun !== undefined;
    this.#keeper.keepAlive(isNeeded && this.#stopped === undefined);
  }

  #fence(error: LoomError): void {
    this.#keeper.stop();
    this.#stopTimers();
    this.#stopped ??= error;
    this.#records.sequencer.fail(error);
    this.#live?.abort(error);
    this.#live = undefined;
    this.#inbox.rejectWaiters(error);
    this.#end({ reason: "fenced", error });
  }

  /** Reports the end once; a closed session can still be fenced. */
  #end(end: SessionEnd): void {
    this.#ended.resolve(end);
    const { onEnd } = this.#options;
    if (onEnd === undefined || this.#hasEnded) return;
    this.#hasEnded = true;
    this.#reporter.notify([onEnd], this.sessionId);
  }

  #stopTimers(): void {
    this.#unwatch();
    this.#waker.stop();
    this.#backOff.stop();
  }

  #assertOpen(): void {
    if (this.#stopped !== undefined) throw this.#stopped;
  }

  /** Runs tasks one after another. The runs that they start read the store in the same way as they do. */
  #runExclusive<T>(task: () => Promise<T>): Promise<T> {
    const turn = this.#lastTask.then(() => {
      this.#assertOpen();
      return waitLonger(this.log, task);
    });
    this.#lastTask = turn.catch(() => undefined);
    return turn;
  }

  async #startOrQueue(request: RunRequest): Promise<{ readonly run: Run } | { readonly turn: Promise<Run> }> {
    const { whenBusy = "enqueue", ...requested } = request;
    if (this.#records.sequencer.failure !== undefined) await this.#repair();
    // An early cancel of this run must be known before it starts.
    await this.#inbox.processPending();
    const origin = { ...requested, runId: requested.runId ?? randomUUID() };
    await this.#assertNew(origin);
    if (whenBusy === "interrupt") await this.#live?.cancel("Interrupted by a new message");
    else if (this.#live !== undefined || this.#inbox.findNext() !== undefined) {
      if (whenBusy === "reject")
        throw new LoomError("run_live", "Another run is live", { run_id: this.#live?.runId ?? "" });
      return this.#inbox.enqueue(origin);
    }
    return { run: await this.#begin(origin) };
  }

  async #assertNew({ runId }: RunOrigin): Promise<void> {
    assertName("run", runId);
    if (this.#live?.runId === runId || (await this.log.getRun(this.sessionId, runId)) !== undefined)
      throw new LoomError("run_exists", `Session "${this.sessionId}" already has a run "${runId}"`, { run_id: runId });
  }

  async #begin(origin: RunOrigin, settle?: Settle): Promise<Run> {
    const earlyCancel = this.#inbox.takeEarlyCancel(origin);
    const events = createRunStart(origin);
    const recorded = readRunStart(events[0]).origin;
    const run = new Run(this.#records, recorded, new OpenWork(), new AnswerText(this.log.limits.maxEventBytes));
    const { durable } = run.start(events, settle);
    this.#live = run;
    this.#updateKeepAlive();
    if (earlyCancel !== undefined) {
      const { commandId, body } = earlyCancel;
      const { reason } = body;
      void run.cancel(typeof reason === "string" ? reason : "cancelled before it started", {
        settle: settleDone(commandId),
      });
    }
    await durable;
    return run;
  }

  async #processCommands(): Promise<void> {
    this.#waker.begin();
    if (this.#records.sequencer.failure !== undefined) return;
    await this.#inbox.processPending();
    if (this.#abandoned?.work.needsAnswer === false) await this.#abandoned.fail(INTERRUPTED);
    while (this.#live === undefined && !this.#isDraining) {
      const next = this.#inbox.findNext();
      if (next === undefined) break;
      await this.#beginQueued(next);
    }
    const { onIdle } = this.#options;
    if (onIdle !== undefined && this.isIdle) this.#reporter.notify([onIdle], this.sessionId);
  }

  async #beginQueued({ commandId, body }: CommandState): Promise<void> {
    const requested = readQueuedMessage(body);
    const origin = {
      ...requested,
      agent: requested.agent ?? this.#options.agent,
      runId: requested.runId ?? randomUUID(),
    };
    let run: Run;
    try {
      await this.#assertNew(origin);
      this.#inbox.drop(commandId);
      run = await this.#begin(origin, settleDone(commandId, { run_id: origin.runId }));
    } catch (error) {
      // A message that cannot be written must not block the queue.
      if (!isLoomError(error, ...UNWRITABLE)) throw error;
      await this.#inbox.reject(commandId, error);
      return;
    }
    if (this.#inbox.resolve(commandId, run) || run.status !== "live") return;
    this.#executor.execute(run, async () => this.#options.onRun?.(run));
  }

  #onEnd(runId: string): void {
    if (this.#live?.runId === runId) this.#live = undefined;
    if (this.#abandoned?.runId === runId) this.#abandoned = undefined;
    this.#updateKeepAlive();
    this.#waker.wake();
  }

  #onFailure(error: LoomError): void {
    if (isLoomError(error, "fenced", "unknown_session")) {
      this.#fence(error);
      return;
    }
    this.#live?.abort(error);
    this.#live = undefined;
    this.#abandoned = undefined;
    this.#updateKeepAlive();
    this.#backOff.plan();
  }

  async #repair(): Promise<void> {
    const { failure } = this.#records.sequencer;
    if (failure === undefined) return;
    const info = await this.log.getSession(this.sessionId);
    if (info?.epoch !== this.#keeper.lease.epoch) {
      this.#fence(new LoomError("fenced", `Session "${this.sessionId}" was taken over by another writer`));
      this.#assertOpen();
    }
    this.#records.sequencer.resume(info?.lastId ?? 0);
    const lists = await this.log.listLandmarks(this.sessionId, "todo_list");
    const permissions = await this.log.listLandmarks(this.sessionId, "tool_permission");
    await this.#records.load(this.log, [...lists, ...permissions]);
    for (const dead of await listLiveRuns(this.log, this.sessionId)) {
      const run = await this.#restore(dead);
      await run.fail({ message: "The log could not be written", code: "store_failed", recoverable: true });
    }
    this.#backOff.reset();
    this.#waker.wake();
  }

  #restore(info: RunInfo): Promise<Run> {
    return restoreRun(this.#records, this.log, info);
  }
}
