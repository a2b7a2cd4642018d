/**
 * A question somebody put to an agent with `run` or `stream`, from the call to the moment nothing of it is left: the
 * session it is written in, the run, the caller's signal, the questions to the user. It knows no agent.
 *
 * Invariant: however it ends, the run is over, the listeners are gone and the session is released before the caller is
 * told.
 */
import { randomUUID } from "node:crypto";
import type { Run, RunEnd, RunOrigin, RunRequest, Session } from "../engine/index.ts";
import type { Log, LogEntry } from "../log/index.ts";
import { isLoomError, type JsonObject, LoomError, type ToolApprovalEvent, type ToolRules } from "../protocol/index.ts";
import { answerQuestion, type Approve } from "./answer-question.ts";
import type { AgentBlobs } from "./attachments.ts";
import type { Within } from "./call-context.ts";
import type { LineRequest, Place } from "./call-lines.ts";
import { describeIds, findCause, type RunIds, RunOutcome, type RunResult } from "./run-outcome.ts";
import type { HeldSession } from "./session-pool.ts";

export interface AskOptions {
  /** The caller's id for this request, on everything that is told of it; made when absent. */
  readonly requestId?: string;
  /**
   * The caller's own, an object of JSON values, on everything that callbacks are told. It is kept in the log, and whoever
   * may read the session in the dialects `loom` and `export` reads it: no place for secrets.
   */
  readonly context?: object;
  /** Cancels the run, wherever it is. */
  readonly signal?: AbortSignal;
  /** The conversation it belongs to; one of its own when absent. */
  readonly sessionId?: string;
  /** What happens while another run of the session is live; it waits for its turn, in this process, when absent. */
  readonly whenBusy?: RunRequest["whenBusy"];
  /** Answers for the user; the agent's when absent. */
  readonly approve?: Approve;
}

/** What a call needs of its agent. */
export interface AskHost {
  readonly agent: string;
  /** Throws `run_live`. */
  lineUp(request: LineRequest): Place;
  enter(ids: RunIds): Within;
  acquire(sessionId: string, isNamed: boolean): Promise<HeldSession>;
  expectRun(run: { readonly sessionId: string; readonly runId: string }): void;
  carryOut(log: Log, run: Run, options: CarryOutOptions): Promise<unknown>;
  /** True for the runs of calls that are going. */
  isOurs(runId: string): boolean;
  report(error: unknown): string;
  onLeft(ask: Ask): void;
}

export interface CarryOutOptions extends Pick<RunOrigin, "source"> {
  /** Where the files of the session are; the agent's own when absent. */
  readonly blobs?: AgentBlobs | undefined;
  /** Told what made the run fail, as it was thrown. */
  readonly onFailure?: (error: unknown) => void;
}

export interface AskRequest {
  readonly message: string;
  readonly source: "execute" | "stream";
  readonly requestId: string;
  readonly context: JsonObject | undefined;
  readonly sessionId: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly whenBusy: RunRequest["whenBusy"];
  readonly approve: Approve | undefined;
  readonly toolRules?: ToolRules | undefined;
}

export class Ask {
  readonly ids: RunIds;
  readonly #host: AskHost;
  readonly #request: AskRequest;
  readonly #outcome = new RunOutcome();
  #within: Within = (work) => work();
  #place: Place | undefined;
  #held: HeldSession | undefined;
  #run: Run | undefined;
  #failure: unknown;
  #finished: Promise<RunEnd> | undefined;
  /** The `run_start`. */
  #firstId = 0;
  #stopped: LoomError | undefined;
  /** Rejects when it is stopped. */
  readonly #halt = Promise.withResolvers<never>();
  #stopListening: () => void = () => undefined;
  #onNews: () => void = () => undefined;
  readonly #onAbort = (): void =>
    this.stop(new LoomError("cancelled", "the caller has aborted it", {}, { cause: this.#request.signal?.reason }));

  constructor(host: AskHost, request: AskRequest) {
    this.#host = host;
    this.#request = request;
    const { sessionId = randomUUID(), requestId } = request;
    this.ids = { sessionId, runId: randomUUID(), requestId };
    this.#halt.promise.catch(() => undefined);
  }

  /** Resolves when the run has begun. Called at once, so that observers are told in the caller's context. */
  async begin(): Promise<void> {
    const { signal, whenBusy } = this.#request;
    try {
      if (signal?.aborted === true) this.#onAbort();
      this.#assertWanted();
      signal?.addEventListener("abort", this.#onAbort, { once: true });
      const { sessionId, runId } = this.ids;
      const onInterrupt = (): void => this.stop(new LoomError("cancelled", "interrupted by a new message"));
      this.#place = this.#host.lineUp({ sessionId, runId, whenBusy, onInterrupt });
      this.#within = this.#host.enter(this.ids);
      this.#host.expectRun({ sessionId, runId });
      this.#held = await this.#host.acquire(sessionId, this.#request.sessionId !== undefined);
      this.#assertWanted();
      await this.#waitForTurn(this.#place, this.#held.session);
      this.#run = await this.#start(this.#held.session);
    } catch (error) {
      await this.#letGo();
      throw this.explain(error);
    }
    this.#finished = this.#finish(this.#run, this.#held);
    // Whoever streams does not look at it before the end.
    this.#finished.catch(() => undefined);
  }

  async #waitForTurn(place: Place, session: Session): Promise<void> {
    const { whenBusy } = this.#request;
    this.#stopListening = session.onCommit((entries) => this.#take(entries));
    await Promise.race([place.turn, this.#halt.promise]);
    if (whenBusy !== undefined && whenBusy !== "enqueue") return;
    // Calls of this process have left: a run that is live was left by somebody, and goes on here.
    for (let live = session.liveRun; live?.status === "live"; live = session.liveRun) {
      if (live.work.waiting.length > 0) throw waitsForUser(live.runId);
      await Promise.race([live.ended.catch(() => undefined), this.#halt.promise]);
    }
  }

  async #start(session: Session): Promise<Run> {
    const { message, source, context, toolRules, whenBusy } = this.#request;
    const { runId, requestId } = this.ids;
    this.#assertWanted();
    const run = await session.startRun({
      agent: this.#host.agent,
      runId,
      requestId,
      message,
      source,
      ...(context === undefined ? {} : { context }),
      ...(toolRules === undefined ? {} : { toolRules }),
      // It has its turn: nothing of this may wait in the log for somebody who is gone.
      whenBusy: whenBusy === "interrupt" ? "interrupt" : "reject",
    });
    if (this.#stopped !== undefined) void run.cancel(this.#stopped.message).catch(() => undefined);
    const onFailure = (error: unknown): void => void (this.#failure = error);
    if (run.status === "live")
      void this.#within(() => this.#host.carryOut(session.log, run, { source, onFailure })).catch(() => undefined);
    return run;
  }

  /** Ends it, wherever it is; the first reason counts. Does nothing when it is over. */
  stop(why: LoomError): void {
    if (this.#stopped !== undefined) return;
    this.#stopped = why;
    this.#halt.reject(why);
    this.#onNews();
    void this.#run?.cancel(why.message).catch(() => undefined);
  }

  /** How the run ended, once nothing of it is left; rejects when its end could not be written. */
  get finished(): Promise<RunEnd> {
    return this.#finished ?? Promise.reject(new LoomError("internal_error", "the run was not begun"));
  }

  async toResult(): Promise<RunResult> {
    const end = await this.finished;
    if (end.status === "completed") return this.#outcome.toResult(this.ids);
    throw this.explain(this.#outcome.toError(end, this.#failure));
  }

  /** Where the run is read; `onNews` is called when there may be more to read. */
  read(onNews: () => void): { readonly log: Log; readonly after: number } {
    if (this.#held === undefined) throw new LoomError("internal_error", "the run was not begun");
    this.#onNews = onNews;
    return { log: this.#held.session.log, after: this.#firstId - 1 };
  }

  #take(entries: readonly LogEntry[]): void {
    let isTold = false;
    for (const { record } of entries) {
      const { event, envelope } = record;
      if (envelope.run_id !== this.ids.runId) {
        if (event.type === "tool_approval" && this.#run === undefined) this.#onForeignQuestion(envelope.run_id);
        continue;
      }
      isTold = true;
      if (event.type === "run_start") this.#firstId = envelope.event_id;
      else if (event.type === "tool_approval") this.#answer(event as ToolApprovalEvent);
      else this.#outcome.take(record);
    }
    if (isTold) this.#onNews();
  }

  #answer(event: ToolApprovalEvent): void {
    const run = this.#run;
    if (run === undefined) return;
    const { approve, requestId } = this.#request;
    const report = (error: unknown): void => void this.#host.report(error);
    void this.#within(() => answerQuestion(run, event, { approve, requestId, report }));
  }

  /** A run that was left by somebody, and goes on here, asks a user nobody here can reach. */
  #onForeignQuestion(runId = ""): void {
    if (this.#request.whenBusy !== "interrupt" && !this.#host.isOurs(runId)) this.stop(waitsForUser(runId));
  }

  async #finish(run: Run, held: HeldSession): Promise<RunEnd> {
    try {
      return await run.ended;
    } catch (error) {
      // The log failed. Whoever opens the session next must not go on with a run that was reported as failed.
      await held.session.repair().catch(() => undefined);
      throw this.explain(error);
    } finally {
      await this.#letGo();
    }
  }

  async #letGo(): Promise<void> {
    try {
      this.#request.signal?.removeEventListener("abort", this.#onAbort);
      this.#stopListening();
      this.#onNews();
      this.#place?.leave();
      await this.#held?.release();
    } catch (error) {
      this.#host.report(error);
    } finally {
      this.#host.onLeft(this);
    }
  }

  #assertWanted(): void {
    if (this.#stopped !== undefined) throw this.#stopped;
  }

  /** What the caller is told: our codes, and where to look. */
  explain(error: unknown): LoomError {
    const ids = describeIds(this.ids);
    const stopped = this.#stopped;
    const known =
      stopped !== undefined && (this.#run === undefined || isLoomError(error, "cancelled")) ? stopped : error;
    if (!isLoomError(known)) {
      const error_id = this.#host.report(known);
      return new LoomError("run_failed", "the run could not be carried out", { error_id, ...ids }, { cause: known });
    }
    const { code, details } = known;
    const message = code === "lease_held" ? `${known.message}: ${HELD}` : known.message;
    return new LoomError(code, message, { ...details, ...ids }, { cause: findCause(known) });
  }
}

const HELD =
  "calls of one agent share a session, but another agent, process or openSession has to close it first, or its lease to run out";

function waitsForUser(runId: string): LoomError {
  return new LoomError("run_live", "another run of the session waits for its user", { live_run_id: runId });
}
