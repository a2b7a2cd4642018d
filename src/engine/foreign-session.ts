/**
 * A session that stores runs executed elsewhere. The records arrive decoded and checked, get their IDs here, and become
 * durable like those of local runs. It knows no dialect, and of the run life cycle only what is open.
 *
 * Invariants:
 * - It holds the session's lease from `open` to `close`. No run of the session is live at either time.
 * - Records keep their order, node runs and extra envelope fields. The session assigns the event IDs. A run keeps
 *   its ID unless the session already has a run with that ID.
 * - The first record of a run is marked as foreign. If this process is killed, the next holder of the session ends
 *   the run.
 * - The `run_end` of a completed run is written together with its reply, in one append. Without the reply, the run
 *   has not ended.
 */
import { setTimeout } from "node:timers/promises";
import { markForeign } from "../log/foreign-mark.ts";
import { describeHolder } from "../log/holder.ts";
import { releaseLease } from "../log/release-lease.ts";
import type { AcquiredLease, Log, RunStatus } from "../log/log.ts";
import { hideContent } from "../log/model-content.ts";
import { quotaExceeded } from "../log/owner-quota.ts";
import { assertName, assertSessionId } from "../log/rules.ts";
import { waitLonger } from "../log/wait-longer.ts";
import { type AnyEvent, type EventOf, type EventRecord, isLoomError, LoomError } from "../protocol/index.ts";
import { dropUndefined } from "../protocol/drop-undefined.ts";
import { repairJson } from "../protocol/json.ts";
import { matchRun, runKey, type NamedRun } from "../protocol/match-run.ts";
import { endsRun, isTerminal, opensNoRun } from "../protocol/record.ts";
import { TextJoiner } from "../protocol/text-joiner.ts";
import { AnswerText } from "./answer-text.ts";
import { assertNodeId, checkEvent } from "./check-event.ts";
import { type CommandTarget, isTarget } from "./command-body.ts";
import { type CancelWatch, watchCancels } from "./foreign-cancels.ts";
import { LeaseKeeper } from "./lease-keeper.ts";
import { MAX_OPEN_SPANS, OpenWork } from "./open-work.ts";
import { listLiveRuns } from "./recovery.ts";
import { Run } from "./run.ts";
import type { RunFailure, RunHost, Settle } from "./run-contract.ts";
import { type EventDraft, type PushResult, Sequencer } from "./sequencer.ts";
import { openSession } from "./session.ts";
import { SESSION_DEFAULTS } from "./session-options.ts";

/** Options of `ForeignSession.open`. */
export interface ForeignSessionOptions {
  /** Milliseconds to wait for a session whose lease is held while no run is live. Default: 0. */
  readonly waitMs?: number;
  /** Stops waiting for the session. */
  readonly signal?: AbortSignal;
  /**
   * What to do with a run whose ID the session already has: assign another ID (`rename`, the default) or throw
   * `run_exists` (`refuse`).
   */
  readonly whenTaken?: "rename" | "refuse";
  /** Actor to store in `run_start`, in place of the one in the records. Default: the one in the records. */
  readonly actor?: string;
  /** Reports an error that users must not see, and returns the ID to show instead. */
  readonly report?: (error: unknown) => string;
}

/** A foreign run and its state so far. */
export interface ForeignRun {
  /** ID in this session, which may differ from the incoming one. */
  readonly runId: string;
  status: RunStatus;
  code?: string;
  readonly firstId: number;
  lastId: number;
}

interface OpenForeignRun extends ForeignRun {
  /** Session and run ID in the incoming records, which may be absent. */
  readonly source: NamedRun;
  readonly requestId: string | undefined;
  readonly work: OpenWork;
  /** The reply of a run that does not complete. */
  readonly answer: AnswerText;
  readonly texts: TextJoiner;
  /** The `run_end` of a completed run, held back until its reply arrives. */
  ending: EventDraft | undefined;
}

/** Maximum runs in one request, because its response lists them all. Code `too_many_open`. */
const MAX_RUNS = 10_000;

/**
 * Writes runs that are executed elsewhere into a session. Open it with `ForeignSession.open`, pass each record to
 * `write`, and end with `end` or `settled`, then `close`.
 */
export class ForeignSession {
  readonly sessionId: string;
  readonly #log: Log;
  readonly #options: ForeignSessionOptions;
  readonly #keeper: LeaseKeeper;
  readonly #sequencer: Sequencer;
  readonly #cancels: CancelWatch;
  readonly #host: RunHost;
  readonly #stop = new AbortController();
  /** Keyed by session and run ID in the incoming records; see `runKey`. */
  readonly #open = new Map<string, OpenForeignRun>();
  readonly #runs: ForeignRun[] = [];
  readonly #names = new Set<string>();
  #lastTs: number;
  /** Node runs and calls that are open in all runs. They are closed in one turn of the event loop. */
  #openCount = 0;

  private constructor(log: Log, lease: AcquiredLease, options: ForeignSessionOptions) {
    const { sessionId, epoch, lastId, lastTs } = lease;
    this.sessionId = sessionId;
    this.#log = log;
    this.#options = options;
    this.#lastTs = lastTs;
    const giveUp = (error: LoomError) => this.#stop.abort(error);
    this.#sequencer = new Sequencer({
      log,
      sessionId,
      epoch,
      lastId,
      lastTs,
      now: Date.now,
      onFailure: giveUp,
    });
    this.#cancels = watchCancels(log, sessionId, (...cancel) => this.#cancel(...cancel));
    this.#keeper = new LeaseKeeper(log, lease, {
      ttlMs: SESSION_DEFAULTS.ttlMs,
      onLost: (error) => {
        this.#sequencer.fail(error);
        giveUp(error);
      },
      onRenewed: () => this.#cancels.check(),
    });
    this.#host = {
      sessionId,
      sequencer: this.#sequencer,
      push: (drafts, pushOptions) => this.#sequencer.push(drafts, pushOptions),
      now: Date.now,
      onRejected: () => undefined,
      report: options.report ?? (() => ""),
      onCommit: () => () => undefined,
      isAllowed: () => false,
      onEnd: () => undefined,
    };
  }

  /**
   * Takes the session's lease, after ending the runs of a dead writer. Throws `run_live` if a run of the session is
   * live, or `lease_held` if another writer holds the session.
   */
  static async open(log: Log, sessionId: string, options: ForeignSessionOptions = {}): Promise<ForeignSession> {
    assertSessionId(sessionId);
    await waitLonger(log, () => endDeadRuns(log, sessionId));
    const lease = await acquireIdle(log, sessionId, options);
    try {
      const [live] = lease.liveRuns;
      if (live !== undefined) throw runLiveError(live.runId);
      await assertQuota(log, lease);
      return new ForeignSession(log, lease, options);
    } catch (error) {
      await releaseLease(log, lease);
      throw error;
    }
  }

  /** All runs so far, in the order of their start. */
  get runs(): readonly ForeignRun[] {
    return this.#runs;
  }

  /** Aborted when nothing more can be written: a run was cancelled, the lease was lost, or the log failed. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Writes the next record. Resolves when there is room for another one, which is before the record is durable. */
  async write({ envelope, event }: EventRecord): Promise<void> {
    if (this.#sequencer.isBehind) await this.#sequencer.drained();
    this.#stop.signal.throwIfAborted();
    const checked = limitEvent(checkEvent(event));
    assertNodeId(envelope.node_id);
    const name = envelope.run_id;
    const ts = this.#timeOf(envelope.ts);
    const ext = envelope.ext === undefined ? undefined : repairJson(envelope.ext);
    const extras = { ext, isFiltered: envelope.prev_event_id !== undefined };
    const isPlain = envelope.ext === undefined && !extras.isFiltered;
    const nodeId = envelope.node_id?.toWellFormed();
    const draft: EventDraft = { nodeId, event: checked, extras: isPlain ? undefined : extras };
    const record = { envelope, event: checked };
    let run = this.#find(record);
    // Without run IDs, a second `run_start` begins another run.
    if (run !== undefined && name === undefined && checked.type === "run_start") {
      this.#failRun(run, { message: "The next run started before this one ended", code: "stream_cut" });
      run = undefined;
    }
    if (run === undefined && name === undefined && opensNoRun(checked)) this.#sequencer.push([draft], { ts });
    else
      this.#writeToRun(run ?? (await this.#begin({ sessionId: envelope.session_id, runId: name }, checked)), draft, ts);
  }

  /** Finds the open run of a record. Throws `invalid_event` if it may belong to several. */
  #find(record: EventRecord): OpenForeignRun | undefined {
    const match = matchRun(record, this.#open);
    if (match !== "several") return match;
    throw new LoomError("invalid_event", `\`${record.event.type}\` may belong to several runs; it needs a session_id`);
  }

  #writeToRun(run: OpenForeignRun, draft: EventDraft, ts: number): void {
    this.#stop.signal.throwIfAborted();
    const { nodeId } = draft;
    for (const rest of run.texts.endedBy(draft.event, nodeId)) this.#writeToRun(run, rest, ts);
    const joined = run.texts.join(draft.event, nodeId);
    const named = { ...draft, runId: run.runId, event: this.#nameRun(joined, run.runId) };
    const isFirst = run.work.frames === 0 && run.ending === undefined;
    const own = isFirst ? { ...named, extras: { ...named.extras, ext: markForeign(named.extras?.ext) } } : named;
    if (run.ending === undefined && own.event.type === "run_end" && !isTerminal(own.event)) {
      run.ending = own;
      return;
    }
    const drafts = run.ending === undefined ? completeEnd(own, run) : [run.ending, own];
    const counted = drafts.map((each) => ({ ...each, event: this.#setCounts(each.event, run, drafts.length) }));
    const { lastId } = this.#push(run, counted, ts);
    run.ending = undefined;
    run.lastId = lastId;
    const openBefore = run.work.openCount;
    for (const [index, { event, nodeId: node_id }] of counted.entries()) {
      const event_id = lastId - counted.length + 1 + index;
      const record = { envelope: { event_id, ts, ...(node_id === undefined ? {} : { node_id }) }, event };
      run.work.add(record);
      run.answer.add(record);
    }
    this.#openCount += run.work.openCount - openBefore;
    if (this.#openCount > MAX_OPEN_SPANS)
      throw new LoomError("too_many_open", `More than ${MAX_OPEN_SPANS} node runs and calls are open`);
    if (!endsRun(own.event)) return;
    this.#openCount -= run.work.openCount;
    const end = counted.find(({ event }) => event.type === "run_end")?.event as EventOf<"run_end"> | undefined;
    run.status = end?.status ?? "completed";
    if (end?.code !== undefined) run.code = end.code;
    this.#open.delete(keyOf(run));
  }

  /** Sets the run ID and the actor of a `run_start`. */
  #nameRun(event: AnyEvent, runId: string): AnyEvent {
    if (event.type !== "run_start") return event;
    const { run_id, actor } = event as EventOf<"run_start">;
    const own = dropUndefined({
      run_id: run_id === undefined ? undefined : runId,
      actor: this.#options.actor ?? actor,
    });
    return { ...event, ...own };
  }

  /** Removes a run whose first record cannot be written. */
  #push(run: OpenForeignRun, drafts: readonly EventDraft[], ts: number): PushResult {
    try {
      return this.#sequencer.push(drafts, { ts });
    } catch (error) {
      if (run.work.frames === 0) {
        this.#open.delete(keyOf(run));
        this.#runs.splice(this.#runs.indexOf(run), 1);
      }
      throw error;
    }
  }

  /** Replaces the event IDs and counts of `run_end` with those of the stored records. */
  #setCounts(event: AnyEvent, { work, firstId }: OpenForeignRun, records: number): AnyEvent {
    if (event.type !== "run_end") return event;
    const end = event as EventOf<"run_end">;
    return {
      ...end,
      ...(end.first_event_id === undefined ? {} : { first_event_id: firstId }),
      ...(end.last_event_id === undefined ? {} : { last_event_id: this.#sequencer.nextId + records - 1 }),
      ...(end.frame_count === undefined ? {} : { frame_count: work.frames + records }),
    };
  }

  async #begin(source: NamedRun, event: AnyEvent): Promise<OpenForeignRun> {
    if (this.#runs.length >= MAX_RUNS)
      throw new LoomError("too_many_open", `The request has more than ${MAX_RUNS} runs`);
    // A dialect without an envelope may name the run only in its `run_start`.
    const runId = await this.#findName(
      source.runId ?? (event.type === "run_start" ? (event as EventOf<"run_start">).run_id : undefined),
    );
    // This session is the only writer, so the run ID is still free.
    const firstId = this.#sequencer.nextId;
    const requestId = event.type === "run_start" ? (event as EventOf<"run_start">).request_id : undefined;
    const run: OpenForeignRun = {
      runId,
      status: "live",
      firstId,
      lastId: firstId,
      source,
      requestId,
      work: new OpenWork(),
      answer: new AnswerText(this.#log.limits.maxEventBytes),
      texts: new TextJoiner(),
      ending: undefined,
    };
    this.#open.set(keyOf(run), run);
    this.#runs.push(run);
    this.#names.add(runId);
    this.#cancels.check();
    return run;
  }

  /** Returns the given run ID, or one derived from the position of the run's first record. */
  async #findName(name: string | undefined): Promise<string> {
    const { nextId } = this.#sequencer;
    const own = name ?? `run-${nextId}`;
    for (let tries = 0; ; tries++) {
      const id = tries === 0 ? own : `${own}-${nextId}${tries === 1 ? "" : `-${tries}`}`;
      assertName("run", id);
      const isTaken = this.#names.has(id) || (await this.#isStored(id));
      if (!isTaken) return id;
      if (name !== undefined && this.#options.whenTaken === "refuse")
        throw new LoomError("run_exists", `Session "${this.sessionId}" already has a run "${name}"`, { run_id: name });
    }
  }

  async #isStored(runId: string): Promise<boolean> {
    const log = this.#log;
    return (await waitLonger(log, () => log.getRun(this.sessionId, runId))) !== undefined;
  }

  /** The sender's time, limited to the range from the last record to now. */
  #timeOf(ts: number | undefined): number {
    const now = Date.now();
    const given = ts === undefined ? now : Math.round(ts);
    this.#lastTs = Math.max(this.#lastTs, Math.min(given, now));
    return this.#lastTs;
  }

  #failRun(run: OpenForeignRun, failure: RunFailure): void {
    this.#endRun(run, (own) => own.fail(failure), "error", failure.code);
  }

  #cancel(target: CommandTarget, reason: string, settle: Settle): void {
    const run = [...this.#open.values()].find((open) => isTarget(target, open));
    if (run === undefined) return;
    this.#endRun(run, (own) => own.cancel(reason, { settle }), "cancelled", "cancelled");
    this.#stop.abort(new LoomError("run_ended", `Run "${run.runId}" was cancelled`, { run_id: run.runId }));
  }

  #endRun(run: OpenForeignRun, end: (own: Run) => Promise<unknown>, status: RunStatus, code: string | undefined): void {
    const { runId, requestId, work, answer } = run;
    this.#openCount -= work.openCount;
    // `settled` and `end` reject if it could not be written.
    end(new Run(this.#host, { runId, requestId }, work, answer)).catch(() => undefined);
    run.status = status;
    if (code !== undefined) run.code = code;
    run.lastId = this.#sequencer.nextId - 1;
    this.#open.delete(keyOf(run));
  }

  /** Fails every live run. Resolves when all records are durable. */
  async end(failure: RunFailure): Promise<void> {
    for (const run of this.#open.values()) this.#failRun(run, failure);
    await this.#sequencer.idle();
  }

  /** Resolves when all records written so far are durable. */
  settled(): Promise<void> {
    return this.#sequencer.idle();
  }

  /** Waits until all records are durable and releases the lease. */
  async close(): Promise<void> {
    this.#cancels.stop();
    await this.#sequencer.idle().catch(() => undefined);
    this.#keeper.stop();
    this.#sequencer.fail(new LoomError("session_closed", `Session "${this.sessionId}" is closed`));
    await releaseLease(this.#log, this.#keeper.lease);
  }
}

/** Adds the reply to the end of a run that did not complete, if the sender sends none. */
function completeEnd<Draft extends EventDraft>(own: Draft, { answer }: OpenForeignRun): readonly Draft[] {
  if (own.event.type !== "run_end") return [own];
  const reply: AnyEvent = { type: "reply", reply: answer.partialText };
  return [
    { ...own, event: { ...own.event, has_reply: true } },
    { ...own, extras: undefined, nodeId: answer.nodeId, event: reply },
  ];
}

/** Ends the runs of a dead writer. A run that waits for the user, or that another process can resume, stays live. */
async function endDeadRuns(log: Log, sessionId: string): Promise<void> {
  const info = await log.getSession(sessionId);
  if (info === undefined || info.holder !== undefined) return;
  if ((await listLiveRuns(log, sessionId)).length === 0) return;
  const session = await openSession(log, sessionId, { deadRuns: "leave" });
  const live = session.liveRun?.runId;
  await session.close({ run: "leave" });
  if (live !== undefined) throw runLiveError(live);
}

/** Throws `quota_exceeded` before a run is stored; the append of a run reports it only afterwards. */
export async function assertQuota(log: Log, { sessionId, epoch, lastId }: AcquiredLease): Promise<void> {
  const { maxOwnerBytes } = log.limits;
  if (maxOwnerBytes === Infinity) return;
  const { isOverQuota = false } = await log.append({ sessionId, epoch, expectedLastId: lastId, entries: [] });
  if (isOverQuota) throw quotaExceeded("bytes", maxOwnerBytes);
}

/** Milliseconds between two attempts to take the lease. */
const PAUSE_MS = 20;

/** Takes the lease of a session without a live run. Throws `run_live` or `lease_held`. */
export async function acquireIdle(
  log: Log,
  sessionId: string,
  { waitMs = 0, signal }: Pick<ForeignSessionOptions, "waitMs" | "signal">,
): Promise<AcquiredLease> {
  const patience = performance.now() + waitMs;
  for (;;) {
    try {
      return await log.acquire(sessionId, { holder: describeHolder(), ttlMs: SESSION_DEFAULTS.ttlMs });
    } catch (error) {
      if (!isLoomError(error, "lease_held")) throw error;
      const [live] = await listLiveRuns(log, sessionId);
      if (live !== undefined) throw runLiveError(live.runId);
      if (performance.now() >= patience) throw error;
    }
    await setTimeout(PAUSE_MS, undefined, signal === undefined ? {} : { signal });
  }
}

function runLiveError(run_id: string): LoomError {
  return new LoomError("run_live", "Another run is live", { run_id });
}

function keyOf({ source }: OpenForeignRun): string {
  return runKey(source.sessionId, source.runId);
}

/**
 * A client that records runs must not allow tools in the session. References to other records would not fit: these get
 * other numbers here.
 */
function limitEvent(event: AnyEvent): AnyEvent {
  return event.type === "tool_permission"
    ? { ...(event as EventOf<"tool_permission">), rule: "ask" }
    : hideContent(event);
}
