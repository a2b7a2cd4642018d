/**
 * A session into which runs are written that somebody else carries out: their records come decoded and checked, get
 * their ids here and become durable like ours. It knows no dialect, and no rule of a run's life beyond what is open.
 *
 * Invariants:
 * - It holds the session's lease from `open` to `close`; no run of the session is live when it begins, none when it ends.
 * - Records keep their order, their node runs and what dialects had beside. Ids are the session's. A run keeps its name
 *   unless that is taken.
 * - The first record of a run is marked: should this process be killed, whoever opens the session next ends the run.
 * - A `run_end` that a reply must follow is written with that reply, in one append: without it the run has not ended.
 */
import { setTimeout } from "node:timers/promises";
import { markForeign } from "../log/foreign-mark.ts";
import { describeHolder } from "../log/holder.ts";
import type { Lease, Log, RunStatus } from "../log/log.ts";
import { assertName } from "../log/rules.ts";
import {
  type AnyEvent,
  type EventOf,
  type EventRecord,
  isKnownEvent,
  isLoomError,
  isTerminal,
  LoomError,
  mayLackRun,
} from "../protocol/index.ts";
import { AnswerText } from "./answer-text.ts";
import { assertNodeId, checkEvent, MAX_EVENT_NAME_LENGTH } from "./check-event.ts";
import { ForeignCancels } from "./foreign-cancels.ts";
import { LeaseKeeper } from "./lease-keeper.ts";
import { OpenWork } from "./open-work.ts";
import { listLiveRuns, readLastTime } from "./recovery.ts";
import { Run } from "./run.ts";
import type { RunFailure, RunHost, Settle } from "./run-contract.ts";
import { type Draft, type Pushed, Sequencer } from "./sequencer.ts";
import { openSession } from "./session.ts";
import { SESSION_DEFAULTS } from "./session-options.ts";

export interface ForeignSessionOptions {
  readonly holder?: string;
  readonly ttlMs?: number;
  readonly now?: () => number;
  readonly maxBacklogBytes?: number;
  /** How long a session is waited for that somebody holds without a live run; not at all when absent. */
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
  /** What becomes of a run whose name the session has already: another name (the default), or `run_exists`. */
  readonly whenTaken?: "rename" | "refuse";
  /** Who sends the runs: their records name nobody else as the one who asked for them. As they say when absent. */
  readonly actor?: string;
  /** Keeps what was thrown from users; the id they are told instead. */
  readonly report?: (error: unknown) => string;
}

export interface ForeignRun {
  readonly runId: string;
  status: RunStatus;
  code?: string;
  readonly firstId: number;
  lastId: number;
}

interface Open extends ForeignRun {
  readonly requestId: string | undefined;
  readonly work: OpenWork;
  /** `run_end` of a completed run, until its reply comes. */
  ending: Draft | undefined;
}

/** Of one body: they are all told of in its answer. Code `too_many_open`. */
const MAX_RUNS = 10_000;

/** Made to end a run as our own end: of its answer nothing is kept. */
const NO_ANSWER = 0;

export class ForeignSession {
  readonly sessionId: string;
  readonly #log: Log;
  readonly #options: ForeignSessionOptions;
  readonly #keeper: LeaseKeeper;
  readonly #sequencer: Sequencer;
  readonly #cancels: ForeignCancels;
  readonly #host: RunHost;
  readonly #now: () => number;
  readonly #stop = new AbortController();
  /** By the name it came under; that without one under none. */
  readonly #open = new Map<string | undefined, Open>();
  readonly #runs: ForeignRun[] = [];
  readonly #names = new Set<string>();
  #lastTs: number;

  private constructor(log: Log, lease: Lease, lastTs: number, options: ForeignSessionOptions) {
    const { sessionId, epoch, lastId } = lease;
    this.sessionId = sessionId;
    this.#log = log;
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#lastTs = lastTs;
    const giveUp = (error: LoomError) => this.#stop.abort(error);
    this.#sequencer = new Sequencer({
      log,
      sessionId,
      epoch,
      lastId,
      lastTs,
      now: this.#now,
      ...(options.maxBacklogBytes === undefined ? {} : { maxBacklogBytes: options.maxBacklogBytes }),
      onFailure: giveUp,
    });
    this.#cancels = new ForeignCancels(log, sessionId, (target, reason, settle) =>
      this.#cancel(target, reason, settle),
    );
    this.#keeper = new LeaseKeeper(log, lease, {
      ttlMs: options.ttlMs ?? SESSION_DEFAULTS.ttlMs,
      onLost: (error) => {
        this.#sequencer.fail(error);
        giveUp(error);
      },
      onRenewed: () => this.#cancels.look(),
    });
    this.#host = {
      sessionId,
      sequencer: this.#sequencer,
      push: (drafts, pushOptions) => this.#sequencer.push(drafts, pushOptions),
      now: this.#now,
      maxNameLength: MAX_EVENT_NAME_LENGTH,
      onRefused: () => undefined,
      report: options.report ?? (() => ""),
      onCommit: () => () => undefined,
      onEnd: () => undefined,
    };
  }

  /** Takes the lease. Refused as `run_live` where a run of the session is live, else as `lease_held`. */
  static async open(log: Log, sessionId: string, options: ForeignSessionOptions = {}): Promise<ForeignSession> {
    assertName("session", sessionId);
    await endLeftovers(log, sessionId);
    const lease = await acquireIdle(log, sessionId, options);
    try {
      const [live] = await listLiveRuns(log, sessionId);
      if (live !== undefined) throw runLive(live.runId);
      return new ForeignSession(log, lease, await readLastTime(log, lease), options);
    } catch (error) {
      await log.release(lease).catch(() => undefined);
      throw error;
    }
  }

  /** All runs so far, in the order they began. */
  get runs(): readonly ForeignRun[] {
    return this.#runs;
  }

  /** Aborted when nothing more can be written: a run was cancelled, the lease is lost, the log fails. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Takes the next record; resolves when there is room for another, which is not when it is durable. */
  async take({ envelope, event }: EventRecord): Promise<void> {
    if (this.#sequencer.isBehind) await this.#sequencer.drained();
    this.#stop.signal.throwIfAborted();
    const checked = checkEvent(event);
    assertNodeId(envelope.node_id);
    const name = envelope.run_id;
    const ts = this.#timeOf(envelope.ts);
    const came = { ext: envelope.ext, isFiltered: envelope.prev_event_id !== undefined };
    const isPlain = envelope.ext === undefined && !came.isFiltered;
    const draft: Draft = { nodeId: envelope.node_id, event: checked, ...(isPlain ? {} : { came }) };
    let run = this.#open.get(name);
    // A run without a name that is started again is another run.
    if (run !== undefined && name === undefined && checked.type === "run_start") {
      this.#endAs(run, { message: "the next run began before this one had ended", code: "stream_cut" });
      run = undefined;
    }
    if (run === undefined && name === undefined && (mayLackRun(checked) || !isKnownEvent(checked)))
      this.#sequencer.push([draft], { ts });
    else this.#write(name, run ?? (await this.#begin(name, checked)), draft, ts);
  }

  #write(name: string | undefined, run: Open, draft: Draft, ts: number): void {
    this.#stop.signal.throwIfAborted();
    const named = { ...draft, runId: run.runId, event: this.#sign(rename(draft.event, run.runId)) };
    const isFirst = run.work.frames === 0 && run.ending === undefined;
    const own = isFirst ? { ...named, came: { ...named.came, ext: markForeign(named.came?.ext) } } : named;
    if (run.ending === undefined && own.event.type === "run_end" && !isTerminal(own.event)) {
      run.ending = own;
      return;
    }
    const drafts = run.ending === undefined ? [own] : [run.ending, own];
    const counted = drafts.map((each) => ({ ...each, event: this.#count(each.event, run, drafts.length) }));
    const { lastId } = this.#pushOf(name, run, counted, ts);
    run.ending = undefined;
    run.lastId = lastId;
    for (const [index, { event, nodeId }] of counted.entries()) {
      const event_id = lastId - counted.length + 1 + index;
      run.work.add({ envelope: { event_id, ts, ...(nodeId === undefined ? {} : { node_id: nodeId }) }, event });
    }
    if (!isTerminal(own.event)) return;
    const end = own.event.type === "run_end" ? (own.event as EventOf<"run_end">) : undefined;
    run.status = end?.status ?? "completed";
    if (end?.code !== undefined) run.code = end.code;
    this.#open.delete(name);
  }

  #sign(event: AnyEvent): AnyEvent {
    const { actor } = this.#options;
    return actor === undefined || event.type !== "run_start" ? event : { ...event, actor };
  }

  /** A run whose first record cannot be written has not begun. */
  #pushOf(name: string | undefined, run: Open, drafts: readonly Draft[], ts: number): Pushed {
    try {
      return this.#sequencer.push(drafts, { ts });
    } catch (error) {
      if (run.work.frames === 0) {
        this.#open.delete(name);
        this.#runs.splice(this.#runs.indexOf(run), 1);
      }
      throw error;
    }
  }

  /** What `run_end` says of ids and counts is said of those here. */
  #count(event: AnyEvent, { work, firstId }: Open, records: number): AnyEvent {
    if (event.type !== "run_end") return event;
    const end = event as EventOf<"run_end">;
    return {
      ...end,
      ...(end.first_event_id === undefined ? {} : { first_event_id: firstId }),
      ...(end.last_event_id === undefined ? {} : { last_event_id: this.#sequencer.nextId + records - 1 }),
      ...(end.frame_count === undefined ? {} : { frame_count: work.frames + records }),
    };
  }

  async #begin(name: string | undefined, event: AnyEvent): Promise<Open> {
    if (this.#runs.length >= MAX_RUNS) throw new LoomError("too_many_open", `${MAX_RUNS} runs came one after another`);
    // A wire without an envelope may name the run in its first record alone.
    const runId = await this.#findName(
      name ?? (event.type === "run_start" ? (event as EventOf<"run_start">).run_id : undefined),
    );
    // Nobody else writes: what the name was looked up for is still so.
    const firstId = this.#sequencer.nextId;
    const requestId = event.type === "run_start" ? (event as EventOf<"run_start">).request_id : undefined;
    const run: Open = {
      runId,
      status: "live",
      firstId,
      lastId: firstId,
      requestId,
      work: new OpenWork(),
      ending: undefined,
    };
    this.#open.set(name, run);
    this.#runs.push(run);
    this.#names.add(runId);
    this.#cancels.look();
    return run;
  }

  /** Its own, or one that says where the run begins. */
  async #findName(name: string | undefined): Promise<string> {
    const own = name ?? `run-${this.#sequencer.nextId}`;
    for (let id = own, tries = 1; ; id = `${own}-${this.#sequencer.nextId}${tries === 1 ? "" : `-${tries}`}`, tries++) {
      assertName("run", id);
      const isTaken = this.#names.has(id) || (await this.#isStored(id));
      if (!isTaken) return id;
      if (name !== undefined && this.#options.whenTaken === "refuse")
        throw new LoomError("run_exists", `session "${this.sessionId}" has a run ${name} already`, { run_id: name });
    }
  }

  async #isStored(runId: string): Promise<boolean> {
    return (await this.#log.getRun(this.sessionId, runId)) !== undefined;
  }

  /** The sender's, as long as it lies between the last record and now. */
  #timeOf(ts: number | undefined): number {
    const now = Math.round(this.#now());
    const given = ts === undefined ? now : Math.round(ts);
    this.#lastTs = Math.max(this.#lastTs, Math.min(given, now));
    return this.#lastTs;
  }

  #endAs(run: Open, failure: RunFailure): void {
    this.#ended(run, this.#asOurs(run).fail(failure), "error", failure.code);
  }

  #cancel(
    target: { readonly runId: string | undefined; readonly requestId: string | undefined },
    reason: string,
    settle: Settle,
  ): boolean {
    const run = [...this.#open.values()].find(
      ({ runId, requestId }) =>
        (target.runId ?? runId) === runId && (target.requestId === undefined || target.requestId === requestId),
    );
    if (run === undefined) return false;
    this.#ended(run, this.#asOurs(run).cancel(reason, { settle }), "cancelled", "cancelled");
    this.#stop.abort(new LoomError("run_ended", `run ${run.runId} was cancelled`, { run_id: run.runId }));
    return true;
  }

  #ended(run: Open, ending: Promise<unknown>, status: RunStatus, code: string | undefined): void {
    // Where it could not be written, whoever waits for the log is told.
    ending.catch(() => undefined);
    run.status = status;
    if (code !== undefined) run.code = code;
    run.lastId = this.#sequencer.nextId - 1;
    for (const [name, open] of this.#open) {
      if (open !== run) continue;
      this.#open.delete(name);
      return;
    }
  }

  #asOurs({ runId, requestId, work }: Open): Run {
    return new Run(this.#host, { runId, requestId }, work, new AnswerText(NO_ANSWER));
  }

  /** Ends every run that is live as an error; resolves when all is durable. */
  async end(failure: RunFailure): Promise<void> {
    for (const run of this.#open.values()) this.#endAs(run, failure);
    await this.#sequencer.idle();
  }

  /** Resolves when all that was taken is durable. */
  settled(): Promise<void> {
    return this.#sequencer.idle();
  }

  /** Lets somebody else write the session. */
  async close(): Promise<void> {
    this.#cancels.stop();
    await this.#sequencer.idle().catch(() => undefined);
    this.#keeper.stop();
    this.#sequencer.fail(new LoomError("session_closed", `session "${this.sessionId}" was closed`));
    // A lease that cannot be given back runs out.
    await this.#log.release(this.#keeper.lease).catch(() => undefined);
  }
}

/** What a dead writer left is ended as ever; what waits for the user, or for whoever can resume it, is live. */
async function endLeftovers(log: Log, sessionId: string): Promise<void> {
  const info = await log.getSession(sessionId);
  if (info === undefined || info.holder !== undefined) return;
  if ((await listLiveRuns(log, sessionId)).length === 0) return;
  const session = await openSession(log, sessionId, { deadRuns: "leave" });
  const live = session.liveRun?.runId;
  await session.close({ run: "leave" });
  if (live !== undefined) throw runLive(live);
}

/** Between two tries for a session that somebody is about to let go of. */
const PAUSE_MS = 20;

async function acquireIdle(log: Log, sessionId: string, options: ForeignSessionOptions): Promise<Lease> {
  const { ttlMs = SESSION_DEFAULTS.ttlMs, holder = describeHolder(), waitMs = 0, signal } = options;
  const patience = performance.now() + waitMs;
  for (;;) {
    try {
      return await log.acquire(sessionId, { holder, ttlMs });
    } catch (error) {
      if (!isLoomError(error, "lease_held")) throw error;
      const [live] = await listLiveRuns(log, sessionId);
      if (live !== undefined) throw runLive(live.runId);
      if (performance.now() >= patience) throw error;
    }
    await setTimeout(PAUSE_MS, undefined, signal === undefined ? {} : { signal });
  }
}

function runLive(run_id: string): LoomError {
  return new LoomError("run_live", "another run is live", { run_id });
}

function rename(event: AnyEvent, runId: string): AnyEvent {
  if (event.type !== "run_start") return event;
  const { run_id } = event as EventOf<"run_start">;
  return run_id === undefined || run_id === runId ? event : { ...event, run_id: runId };
}
