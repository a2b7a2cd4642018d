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
import { type AnyEvent, isLoomError, LoomError } from "../protocol/index.ts";
import { AnswerText } from "./answer-text.ts";
import { BackOff } from "./back-off.ts";
import { Drivers } from "./drivers.ts";
import { ErrorReporter } from "./error-reporter.ts";
import { Inbox, readOrigin } from "./inbox.ts";
import { LeaseKeeper } from "./lease-keeper.ts";
import { LeftoverRuns } from "./leftover-runs.ts";
import { OpenWork } from "./open-work.ts";
import { INTERRUPTED, listLiveRuns, readLastTime, type RecoveredRun, restoreRun } from "./recovery.ts";
import { Run } from "./run.ts";
import type { RunHost, RunOrigin, Settle } from "./run-contract.ts";
import {
  type CloseOptions,
  type RunRequest,
  SESSION_DEFAULTS,
  type SessionEnd,
  type SessionOptions,
} from "./session-options.ts";
import { quiet, Sequencer } from "./sequencer.ts";
import { SessionRecords } from "./session-records.ts";
import { Turns } from "./turns.ts";
import { Waker } from "./waker.ts";

/** Takes the session's lease, recovers what its last writer left, and begins to carry out commands. */
export function openSession(log: Log, sessionId: string, options: SessionOptions = {}): Promise<Session> {
  return Session.open(log, sessionId, options);
}

export class Session implements AsyncDisposable {
  readonly sessionId: string;
  readonly log: Log;
  readonly #options: SessionOptions & typeof SESSION_DEFAULTS;
  readonly #now: () => number;
  readonly #sequencer: Sequencer;
  readonly #keeper: LeaseKeeper;
  readonly #inbox: Inbox;
  readonly #waker: Waker;
  readonly #backOff: BackOff;
  readonly #reporter: ErrorReporter;
  readonly #records: SessionRecords;
  readonly #host: RunHost;
  readonly #listeners = new Set<(entries: readonly LogEntry[]) => void>();
  readonly #turns: Turns;
  readonly #drivers: Drivers;
  readonly #leftovers: LeftoverRuns;
  readonly #ended = Promise.withResolvers<SessionEnd>();
  #turn: Promise<unknown> = Promise.resolve();
  #live: Run | undefined;
  #stopped: LoomError | undefined;
  #hasEnded = false;
  #isDraining = false;
  #closing: Promise<void> | undefined;
  #unwatch: () => void = () => undefined;

  private constructor(log: Log, lease: Lease, lastTs: number, options: SessionOptions) {
    const { sessionId, epoch, lastId } = lease;
    this.sessionId = sessionId;
    this.log = log;
    this.#options = { ...SESSION_DEFAULTS, ...options };
    this.#now = options.now ?? Date.now;
    this.#reporter = new ErrorReporter(options.onError);
    if (options.onCommit !== undefined) this.#listeners.add(options.onCommit);
    this.#drivers = new Drivers(this.#reporter);
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
    this.#records = new SessionRecords(this.#sequencer, this.#options.maxNameLength);
    const push: RunHost["push"] = (drafts, pushOptions) => this.#records.push(drafts, pushOptions);
    this.#host = {
      sessionId,
      sequencer: this.#sequencer,
      push,
      now: this.#now,
      maxNameLength: this.#options.maxNameLength,
      onRefused: (error) => this.#reporter.reportRefusal(error),
      report: (error) => this.#reporter.report(error),
      onCommit: (listener) => this.onCommit(listener),
      onEnd: ({ runId }) => this.#onEnd(runId),
    };
    this.#inbox = new Inbox(
      {
        log,
        sessionId,
        now: this.#now,
        push,
        onRefused: (commandId, error) => this.#turns.refuse(commandId, error),
        liveRun: () => this.#live,
        nextId: () => this.#sequencer.nextId,
      },
      this.#options,
    );
    this.#turns = new Turns({
      log,
      sessionId,
      inbox: this.#inbox,
      maxQueuedRuns: this.#options.maxQueuedRuns,
      carriesOutAll: options.onRun !== undefined,
      onChange: () => this.#keepAlive(),
    });
    this.#leftovers = new LeftoverRuns({
      options,
      drivers: this.#drivers,
      restore: (info) => this.#restore(info),
      onLive: (run) => {
        this.#live = run;
      },
      onAnswered: () => this.#waker.wake(),
    });
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
      options.onEnd?.(sessionId);
      throw error;
    }
  }

  async #init(): Promise<void> {
    try {
      await this.#records.load(this.log, this.sessionId);
      await this.#takeTurn(async () => this.#leftovers.recover(await listLiveRuns(this.log, this.sessionId)));
    } catch (error) {
      this.#stopped ??= new LoomError("session_closed", "the session could not be opened", {}, { cause: error });
      this.#live?.die(this.#stopped);
      this.#stopTimers();
      this.#keeper.stop();
      throw error;
    }
    this.#unwatch = this.log.watch(this.sessionId, () => this.#waker.hint(), { commandsOnly: true });
    this.#keepAlive();
    this.#waker.hint();
  }

  /** What became of the runs that were live when the session was opened. */
  get recovered(): readonly RecoveredRun[] {
    return this.#leftovers.recovered;
  }

  get liveRun(): Run | undefined {
    return this.#live;
  }

  /** No run is live, and no command waits that was seen so far. */
  get isIdle(): boolean {
    return this.#live === undefined && this.#turns.size === 0 && this.#inbox.isEmpty;
  }

  /**
   * Begins no more runs: messages wait for whoever opens the session next. Other commands are still carried out. Resolves
   * when no run is about to begin.
   */
  async drain(): Promise<void> {
    this.#isDraining = true;
    await this.#turn;
  }

  /** Resolves when this process writes the session no more, and says why. */
  get closed(): Promise<SessionEnd> {
    return this.#ended.promise;
  }

  /** The session's runs, newest first. */
  runs(options?: ListOptions): Promise<readonly RunInfo[]> {
    return this.log.listRuns(this.sessionId, options);
  }

  /** Calls `listener` with what has become durable, in order; returns how to stop it. */
  onCommit(listener: (entries: readonly LogEntry[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Starts a run, or waits for its turn; resolves when its `run_start` is durable. */
  async startRun(request: RunRequest = {}): Promise<Run> {
    const started = await this.#takeTurn(() => this.#startOrQueue(request));
    return "run" in started ? started.run : started.turn;
  }

  /** A record of the session itself, outside any run: a to-do list, say, or `custom`; see `mayLackRun`. */
  record(event: AnyEvent): Promise<number> {
    return quiet(this.#record(event));
  }

  async #record(event: AnyEvent): Promise<number> {
    this.#assertOpen();
    if (this.#sequencer.failure !== undefined) await this.repair();
    try {
      return await this.#records.pushRunless(event).durable;
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
      if (this.#drivers.size === 0) return;
      await this.#drivers.settled();
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
      if (how === "leave" || waits || this.#leftovers.isLeft(live)) live.die(error);
      else await live.fail({ ...INTERRUPTED, message: "the session was closed" }).catch(() => undefined);
    }
    this.#turns.refuseAll(error);
    await this.#sequencer.idle().catch(() => undefined);
    this.#sequencer.fail(error);
    this.#keeper.stop();
    // A lease that cannot be given back runs out.
    await this.log.release(this.#keeper.lease).catch(() => undefined);
    this.#end({ reason: "closed" });
  }

  /** The process stays for a run, for those who wait for one, and for messages it has an agent for. */
  #keepAlive(): void {
    const isNeeded = this.#live !== undefined || this.#turns.size > 0 || this.#options.onRun !== undefined;
    this.#keeper.keepAlive(isNeeded && this.#stopped === undefined);
  }

  #fence(error: LoomError): void {
    this.#keeper.stop();
    this.#stopTimers();
    this.#stopped ??= error;
    this.#sequencer.fail(error);
    this.#live?.die(error);
    this.#live = undefined;
    this.#turns.refuseAll(error);
    this.#end({ reason: "fenced", error });
  }

  /** The first time it does; a session that was closed can still be fenced. */
  #end(end: SessionEnd): void {
    this.#ended.resolve(end);
    const { onEnd } = this.#options;
    if (onEnd === undefined || this.#hasEnded) return;
    this.#hasEnded = true;
    this.#reporter.tell([onEnd], this.sessionId);
  }

  #stopTimers(): void {
    this.#unwatch();
    this.#waker.stop();
    this.#backOff.stop();
  }

  #assertOpen(): void {
    if (this.#stopped !== undefined) throw this.#stopped;
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

  async #startOrQueue(request: RunRequest): Promise<{ readonly run: Run } | { readonly turn: Promise<Run> }> {
    const { whenBusy = "enqueue", ...asked } = request;
    if (this.#sequencer.failure !== undefined) await this.#repair();
    // A cancel that came before must be known.
    await this.#inbox.pass();
    const origin = { ...asked, runId: asked.runId ?? randomUUID() };
    await this.#assertNew(origin);
    if (whenBusy === "interrupt") await this.#live?.cancel("interrupted by a new message");
    else if (this.#live !== undefined || this.#turns.findNext() !== undefined) {
      if (whenBusy === "reject")
        throw new LoomError("run_live", "another run is live", { run_id: this.#live?.runId ?? "" });
      return this.#turns.enqueue(origin);
    }
    return { run: await this.#begin(origin) };
  }

  async #assertNew({ runId }: RunOrigin): Promise<void> {
    assertName("run", runId);
    if (this.#live?.runId === runId || (await this.log.getRun(this.sessionId, runId)) !== undefined)
      throw new LoomError("run_exists", `session "${this.sessionId}" has a run ${runId} already`, { run_id: runId });
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

  async #carryOut(): Promise<void> {
    this.#waker.begin();
    if (this.#sequencer.failure !== undefined) return;
    await this.#inbox.pass();
    await this.#leftovers.endAnswered();
    while (this.#live === undefined && !this.#isDraining) {
      const next = this.#turns.findNext();
      if (next === undefined) break;
      await this.#beginQueued(next);
    }
    const { onIdle } = this.#options;
    if (onIdle !== undefined && this.isIdle) this.#reporter.tell([onIdle], this.sessionId);
  }

  async #beginQueued({ commandId, body }: CommandState): Promise<void> {
    const asked = readOrigin(body);
    const origin = { ...asked, agent: asked.agent ?? this.#options.agent, runId: asked.runId ?? randomUUID() };
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
    if (this.#turns.give(commandId, run) || run.status !== "live") return;
    this.#drivers.drive(run, async () => this.#options.onRun?.(run, origin));
  }

  #onEnd(runId: string): void {
    if (this.#live?.runId === runId) this.#live = undefined;
    this.#leftovers.forget(runId);
    this.#keepAlive();
    this.#waker.wake();
  }

  #onFailure(error: LoomError): void {
    if (isLoomError(error, "fenced", "unknown_session")) {
      this.#fence(error);
      return;
    }
    this.#live?.die(error);
    this.#live = undefined;
    this.#leftovers.forget();
    this.#keepAlive();
    this.#backOff.plan();
  }

  async #repair(): Promise<void> {
    const { failure } = this.#sequencer;
    if (failure === undefined) return;
    const info = await this.log.getSession(this.sessionId);
    if (info?.epoch !== this.#keeper.lease.epoch) {
      this.#fence(new LoomError("fenced", `session "${this.sessionId}" has passed to another writer`));
      this.#assertOpen();
    }
    this.#sequencer.resume(info?.lastId ?? 0);
    await this.#records.load(this.log, this.sessionId);
    for (const dead of await listLiveRuns(this.log, this.sessionId)) {
      const run = await this.#restore(dead);
      await run.fail({ message: "the log could not be written", code: "store_failed", recoverable: true });
    }
    this.#backOff.reset();
    this.#waker.wake();
  }

  #restore(info: RunInfo): Promise<Run> {
    return restoreRun(this.#host, this.log, info, this.#options.maxReplyCharacters);
  }
}
