/**
 * A session this process writes: it holds the lease, has one live run at a time, carries out commands, and puts right
 * what a dead process or a failing log left behind. A connection is nothing it knows of: runs live without.
 *
 * Starting runs, carrying out commands and repairs take turns, so that each sees what the one before has done.
 */
import { randomUUID } from "node:crypto";
import { describeHolder } from "../log/holder.ts";
import type { CommandState, Lease, ListOptions, Log, LogEntry, RunInfo } from "../log/log.ts";
import { assertName } from "../log/rules.ts";
import { type AnyEvent, isLoomError, LoomError, mayLackRun } from "../protocol/index.ts";
import { AnswerText } from "./answer-text.ts";
import { BackOff } from "./back-off.ts";
import { checkEvent } from "./check-event.ts";
import { ErrorReporter } from "./error-reporter.ts";
import { Inbox, readOrigin } from "./inbox.ts";
import { LeaseKeeper } from "./lease-keeper.ts";
import { OpenWork } from "./open-work.ts";
import { INTERRUPTED, listLiveRuns, readLastTime, readStoredRun, type RecoveredRun, recoverRun } from "./recovery.ts";
import { Run } from "./run.ts";
import type { RunFailure, RunHost, RunOrigin, Settle } from "./run-contract.ts";
import {
  type CloseOptions,
  type RunRequest,
  SESSION_DEFAULTS,
  type SessionEnd,
  type SessionOptions,
} from "./session-options.ts";
import { type Draft, type Pushed, type PushOptions, quiet, Sequencer } from "./sequencer.ts";
import { TodoLists } from "./todo-lists.ts";
import { Waker } from "./waker.ts";

/** Takes the session's lease, recovers what its last writer left, and begins to carry out commands. */
export function openSession(log: Log, sessionId: string, options: SessionOptions = {}): Promise<Session> {
  return Session.open(log, sessionId, options);
}

export class Session implements AsyncDisposable {
  readonly sessionId: string;
  readonly #recovered: RecoveredRun[] = [];
  readonly #log: Log;
  readonly #options: SessionOptions & typeof SESSION_DEFAULTS;
  readonly #now: () => number;
  readonly #sequencer: Sequencer;
  readonly #keeper: LeaseKeeper;
  readonly #inbox: Inbox;
  readonly #waker: Waker;
  readonly #backOff: BackOff;
  readonly #reporter: ErrorReporter;
  #todos = new TodoLists();
  readonly #host: RunHost;
  readonly #listeners = new Set<(entries: readonly LogEntry[]) => void>();
  /** Those who wait for the turn of a message of their own, by command. */
  readonly #waiters = new Map<string, PromiseWithResolvers<Run>>();
  readonly #going = new Set<Promise<unknown>>();
  readonly #ended = Promise.withResolvers<SessionEnd>();
  #turn: Promise<unknown> = Promise.resolve();
  #live: Run | undefined;
  /** The live run has nobody who goes on with it, and ends when the user has answered. */
  #abandoned: Run | undefined;
  /** The live run is for somebody else to go on with. */
  #left: Run | undefined;
  #stopped: LoomError | undefined;
  #closing: Promise<void> | undefined;
  #unwatch: () => void = () => undefined;

  private constructor(log: Log, lease: Lease, lastTs: number, options: SessionOptions) {
    const { sessionId, epoch, lastId } = lease;
    this.sessionId = sessionId;
    this.#log = log;
    this.#options = { ...SESSION_DEFAULTS, ...options };
    this.#now = options.now ?? Date.now;
    this.#reporter = new ErrorReporter(options.onError);
    this.#keeper = new LeaseKeeper(log, lease, {
      ttlMs: this.#options.ttlMs,
      onLost: (error) => this.#fence(error),
      onRenewed: () => {
        if (this.#sequencer.failure === undefined) this.#waker.hint();
        else void this.repair().catch(() => this.#backOff.plan());
      },
    });
    this.#sequencer = new Sequencer({
      log,
      sessionId,
      epoch,
      lastId,
      lastTs,
      now: this.#now,
      ...(options.maxBacklogBytes === undefined ? {} : { maxBacklogBytes: options.maxBacklogBytes }),
      onCommit: (entries) => this.#reporter.tell(this.#listeners, entries),
      onFailure: (error) => this.#onFailure(error),
    });
    this.#waker = new Waker(this.#options.inboxMs, () => this.#takeTurn(() => this.#carryOut()));
    this.#backOff = new BackOff(this.#options.repairMs, () => this.repair());
    const push = (drafts: readonly Draft[], pushOptions?: PushOptions): Pushed => this.#push(drafts, pushOptions);
    this.#host = {
      sequencer: this.#sequencer,
      push,
      now: this.#now,
      maxNameLength: this.#options.maxNameLength,
      onRefused: (error) => this.#reporter.reportRefusal(error),
      onEnd: ({ runId }) => this.#onEnd(runId),
    };
    this.#inbox = new Inbox(
      {
        log,
        sessionId,
        now: this.#now,
        push,
        onRefused: (commandId, error) => this.#refuseWaiter(commandId, error),
        liveRun: () => this.#live,
        nextId: () => this.#sequencer.nextId,
      },
      this.#options,
    );
  }

  static async open(log: Log, sessionId: string, options: SessionOptions = {}): Promise<Session> {
    const { ttlMs = SESSION_DEFAULTS.ttlMs, takeover = false, holder = describeHolder() } = options;
    const lease = await log.acquire(sessionId, { holder, ttlMs, takeover });
    try {
      const session = new Session(log, lease, await readLastTime(log, lease), options);
      await session.#init();
      return session;
    } catch (error) {
      await log.release(lease).catch(() => undefined);
      throw error;
    }
  }

  async #init(): Promise<void> {
    try {
      await this.#todos.load(this.#log, this.sessionId);
      await this.#takeTurn(() => this.#recover());
    } catch (error) {
      this.#stopped ??= new LoomError("session_closed", "the session could not be opened", {}, { cause: error });
      this.#live?.die(this.#stopped);
      this.#stopTimers();
      this.#keeper.stop();
      throw error;
    }
    this.#unwatch = this.#log.watch(this.sessionId, () => this.#waker.hint(), { hintsOnly: true });
    this.#keepAlive();
    this.#waker.hint();
  }

  /** What became of the runs that were live when the session was opened. */
  get recovered(): readonly RecoveredRun[] {
    return this.#recovered;
  }

  get liveRun(): Run | undefined {
    return this.#live;
  }

  /** Resolves when this process writes the session no more, and says why. */
  get closed(): Promise<SessionEnd> {
    return this.#ended.promise;
  }

  /** The session's runs, newest first. */
  runs(options?: ListOptions): Promise<readonly RunInfo[]> {
    return this.#log.listRuns(this.sessionId, options);
  }

  /** Calls `listener` with what has become durable, in order; returns how to stop it. */
  onCommit(listener: (entries: readonly LogEntry[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Starts a run, or waits for its turn; resolves when its `run_start` is durable. */
  async startRun(request: RunRequest = {}): Promise<Run> {
    const started = await this.#takeTurn(() => this.#startOrQueue(request));
    return "run" in started ? started.run : started.turn.promise;
  }

  /** A record of the session itself, outside any run: a to-do list, say, or `custom`; see `mayLackRun`. */
  record(event: AnyEvent): Promise<number> {
    return quiet(this.#record(event));
  }

  async #record(event: AnyEvent): Promise<number> {
    this.#assertOpen();
    if (this.#sequencer.failure !== undefined) await this.repair();
    return this.#pushRecord(event).durable;
  }

  #pushRecord(event: AnyEvent): Pushed {
    try {
      const checked = checkEvent(event, this.#options.maxNameLength);
      if (!mayLackRun(checked))
        throw new LoomError("invalid_event", `\`${checked.type}\` belongs to a run`, { path: "type" });
      return this.#push([{ event: checked }]);
    } catch (error) {
      this.#reporter.reportRefusal(error);
      throw error;
    }
  }

  /** After the log has failed: looks where it ends, and ends the run that was cut. Rejects while it still fails. */
  async repair(): Promise<void> {
    await this.#takeTurn(() => this.#repair());
  }

  /** Carries out what waits, and resolves when there is nothing left that this process could do by itself. */
  async idle(): Promise<void> {
    for (;;) {
      await this.#takeTurn(() => this.#carryOut());
      if (this.#going.size === 0) return;
      await Promise.allSettled(this.#going);
    }
  }

  /** Waits until all is durable, and lets somebody else write the session. */
  close({ run = "interrupt" }: CloseOptions = {}): Promise<void> {
    this.#closing ??= this.#close(run);
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(how: "interrupt" | "leave"): Promise<void> {
    if (this.#stopped !== undefined) return;
    const error = new LoomError("session_closed", `session "${this.sessionId}" was closed`);
    this.#stopped = error;
    this.#stopTimers();
    await this.#turn;
    const live = this.#live;
    if (live !== undefined) {
      const waits = live.work.waiting.length > 0 && !live.work.hasAnswered;
      if (how === "leave" || waits || live === this.#left) live.die(error);
      else await live.fail({ ...INTERRUPTED, message: "the session was closed" }).catch(() => undefined);
    }
    for (const commandId of this.#waiters.keys()) this.#refuseWaiter(commandId, error);
    await this.#sequencer.idle().catch(() => undefined);
    this.#sequencer.fail(error);
    this.#keeper.stop();
    // A lease that cannot be given back runs out.
    await this.#log.release(this.#keeper.lease).catch(() => undefined);
    this.#ended.resolve({ reason: "closed" });
  }

  /** The process stays for a run, for those who wait for one, and for messages it has an agent for. */
  #keepAlive(): void {
    const isNeeded = this.#live !== undefined || this.#waiters.size > 0 || this.#options.onRun !== undefined;
    this.#keeper.keepAlive(isNeeded && this.#stopped === undefined);
  }

  #fence(error: LoomError): void {
    this.#keeper.stop();
    this.#stopTimers();
    this.#stopped ??= error;
    this.#sequencer.fail(error);
    this.#live?.die(error);
    this.#live = undefined;
    for (const commandId of this.#waiters.keys()) this.#refuseWaiter(commandId, error);
    this.#ended.resolve({ reason: "fenced", error });
  }

  #stopTimers(): void {
    this.#unwatch();
    this.#waker.stop();
    this.#backOff.stop();
  }

  #assertOpen(): void {
    if (this.#stopped !== undefined) throw this.#stopped;
  }

  #push(drafts: readonly Draft[], options?: PushOptions): Pushed {
    for (const { event } of drafts) this.#todos.assert(event);
    const pushed = this.#sequencer.push(drafts, options);
    for (const { event } of drafts) this.#todos.add(event);
    return pushed;
  }

  /** One after the other. */
  #takeTurn<T>(task: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(() => {
      this.#assertOpen();
      return task();
    });
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  async #startOrQueue(
    request: RunRequest,
  ): Promise<{ readonly run: Run } | { readonly turn: PromiseWithResolvers<Run> }> {
    const { whenBusy = "enqueue", ...asked } = request;
    if (this.#sequencer.failure !== undefined) await this.#repair();
    // A cancel that came before must be known.
    await this.#inbox.pass();
    const origin = { ...asked, runId: asked.runId ?? randomUUID() };
    await this.#assertNew(origin);
    if (whenBusy === "interrupt") await this.#live?.cancel("interrupted by a new message");
    else if (this.#live !== undefined || this.#findNext() !== undefined) {
      if (whenBusy === "reject")
        throw new LoomError("run_live", "another run is live", { run_id: this.#live?.runId ?? "" });
      return { turn: await this.#enqueue(origin) };
    }
    return { run: await this.#begin(origin) };
  }

  async #assertNew({ runId }: RunOrigin): Promise<void> {
    assertName("run", runId);
    if (this.#live?.runId === runId || (await this.#log.getRun(this.sessionId, runId)) !== undefined)
      throw new LoomError("run_exists", `session "${this.sessionId}" has a run ${runId} already`, { run_id: runId });
  }

  async #enqueue({ runId, requestId, message, agent, source }: RunOrigin): Promise<PromiseWithResolvers<Run>> {
    const { maxQueuedRuns } = this.#options;
    if (this.#inbox.queue.length >= maxQueuedRuns)
      throw new LoomError("queue_full", `${maxQueuedRuns} messages wait already`, { limit: maxQueuedRuns });
    const body = {
      run_id: runId,
      ...(requestId === undefined ? {} : { request_id: requestId }),
      ...(message === undefined ? {} : { message }),
      ...(agent === undefined ? {} : { agent }),
      ...(source === undefined ? {} : { source }),
    };
    const commandId = randomUUID();
    await this.#log.submit({ commandId, sessionId: this.sessionId, kind: "enqueue", body });
    const turn = Promise.withResolvers<Run>();
    turn.promise.catch(() => undefined);
    this.#waiters.set(commandId, turn);
    this.#keepAlive();
    return turn;
  }

  async #begin(origin: RunOrigin, settle?: Settle): Promise<Run> {
    const ahead = this.#inbox.takeAhead(origin);
    const run = new Run(this.#host, origin, new OpenWork(), new AnswerText(this.#options.maxReplyCharacters));
    const { durable } = run.start(origin, settle);
    this.#live = run;
    this.#keepAlive();
    if (ahead !== undefined) {
      const { commandId, body } = ahead;
      const { reason } = body;
      void run.cancel(typeof reason === "string" ? reason : "cancelled before it started", {
        settle: (eventId) => ({ commandId, outcome: { code: "done", eventId } }),
      });
    }
    await durable;
    return run;
  }

  /** The message that is next, if somebody here can carry it out. */
  #findNext(): CommandState | undefined {
    const { onRun } = this.#options;
    return this.#inbox.queue.find(({ commandId }) => onRun !== undefined || this.#waiters.has(commandId));
  }

  async #carryOut(): Promise<void> {
    this.#waker.begin();
    if (this.#sequencer.failure !== undefined) return;
    await this.#inbox.pass();
    if (this.#abandoned !== undefined && this.#abandoned.work.waiting.length === 0)
      await this.#abandoned.fail(INTERRUPTED);
    for (let next = this.#findNext(); next !== undefined && this.#live === undefined; next = this.#findNext())
      await this.#beginQueued(next);
  }

  async #beginQueued({ commandId, body }: CommandState): Promise<void> {
    const asked = readOrigin(body);
    const origin = { ...asked, runId: asked.runId ?? randomUUID() };
    try {
      await this.#assertNew(origin);
    } catch (error) {
      if (!isLoomError(error, "run_exists", "invalid_name")) throw error;
      await this.#inbox.refuse(commandId, error);
      return;
    }
    this.#inbox.drop(commandId);
    const details = { run_id: origin.runId };
    let run: Run;
    try {
      run = await this.#begin(origin, (eventId) => ({ commandId, outcome: { code: "done", eventId, details } }));
    } catch (error) {
      // A message that cannot be written must not keep those behind it waiting.
      if (!isLoomError(error, "invalid_event", "event_too_large", "batch_too_large")) throw error;
      await this.#inbox.refuse(commandId, error);
      return;
    }
    const waiter = this.#waiters.get(commandId);
    this.#waiters.delete(commandId);
    this.#keepAlive();
    if (waiter !== undefined) waiter.resolve(run);
    else if (run.status === "live") this.#drive(run, async () => this.#options.onRun?.(run, origin));
  }

  /** Sees to it that a run ends when whoever carries it out does. */
  #drive(run: Run, work: () => Promise<unknown>): void {
    const going = (async () => {
      try {
        await work();
        if (run.status === "live") await run.finish();
      } catch (error) {
        if (run.status === "live") await run.fail(this.#describeFailure(error));
      }
    })().catch(() => undefined);
    this.#going.add(going);
    void going.then(() => this.#going.delete(going));
  }

  /** Errors of ours may be shown; of any other the user sees an id only. */
  #describeFailure(error: unknown): RunFailure {
    if (isLoomError(error)) return { message: error.message, code: error.code };
    const error_id = this.#reporter.report(error);
    return { message: "the run failed unexpectedly", code: "run_failed", details: { error_id } };
  }

  #onEnd(runId: string): void {
    if (this.#live?.runId === runId) this.#live = undefined;
    if (this.#abandoned?.runId === runId) this.#abandoned = undefined;
    this.#keepAlive();
    this.#waker.wake();
  }

  #refuseWaiter(commandId: string, error: LoomError): void {
    this.#waiters.get(commandId)?.reject(error);
    this.#waiters.delete(commandId);
    this.#keepAlive();
  }

  #onFailure(error: LoomError): void {
    if (isLoomError(error, "fenced", "unknown_session")) {
      this.#fence(error);
      return;
    }
    this.#live?.die(error);
    this.#live = undefined;
    this.#abandoned = undefined;
    this.#keepAlive();
    this.#backOff.plan();
  }

  async #repair(): Promise<void> {
    const { failure } = this.#sequencer;
    if (failure === undefined) return;
    const info = await this.#log.getSession(this.sessionId);
    if (info?.epoch !== this.#keeper.lease.epoch) {
      this.#fence(new LoomError("fenced", `session "${this.sessionId}" has passed to another writer`));
      this.#assertOpen();
    }
    this.#sequencer.resume(info?.lastId ?? 0);
    this.#todos = new TodoLists();
    await this.#todos.load(this.#log, this.sessionId);
    for (const dead of await listLiveRuns(this.#log, this.sessionId)) {
      const run = await this.#restore(dead);
      await run.fail({ message: "the log could not be written", code: "store_failed", recoverable: true });
    }
    this.#backOff.reset();
    this.#waker.wake();
  }

  async #restore(info: RunInfo): Promise<Run> {
    const { maxReplyCharacters } = this.#options;
    const { origin, work, answer } = await readStoredRun(this.#log, this.sessionId, info, maxReplyCharacters);
    return new Run(this.#host, origin, work, answer);
  }

  async #recover(): Promise<void> {
    const dead = await listLiveRuns(this.#log, this.sessionId);
    const { deadRuns, onRun } = this.#options;
    const mayLeave = deadRuns === "leave" && onRun === undefined;
    for (const [index, info] of dead.entries()) {
      const run = await this.#restore(info);
      // One run is live at a time: only the newest can go on.
      const isLast = index === dead.length - 1;
      this.#live = run;
      const { outcome, going } = isLast ? recoverRun(run, { ...this.#options, mayLeave }) : end(run);
      this.#recovered.push({ runId: run.runId, outcome });
      if (outcome === "resumed") this.#drive(run, async () => going);
      else await going;
      if (outcome === "left") this.#left = run;
      if (outcome !== "waiting") continue;
      this.#abandoned = run;
      void run.answered().then(() => this.#waker.wake());
    }
  }
}

function end(run: Run): ReturnType<typeof recoverRun> {
  return { outcome: "ended", going: run.fail(INTERRUPTED) };
}
