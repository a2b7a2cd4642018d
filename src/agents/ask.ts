/**
 * A question somebody put to an agent with `run` or `stream`, from the call to the moment nothing of it is left: the
 * session it is written in, the run, the caller's signal, the questions to the user. It knows no agent.
 *
 * Invariant: however it ends, the run is over, the listeners are gone and the session is released before the caller is
 * told.
 */
import { randomUUID } from "node:crypto";
import type { Run, RunEnd, RunOrigin, RunRequest } from "../engine/index.ts";
import type { Log, LogEntry } from "../log/index.ts";
import { isLoomError, type JsonObject, LoomError, type ToolApprovalEvent } from "../protocol/index.ts";
import { answerQuestion, type Approve } from "./answer-question.ts";
import { describeIds, type RunIds, RunOutcome, type RunResult } from "./run-outcome.ts";
import type { HeldSession } from "./session-pool.ts";

export interface AskOptions {
  /** The caller's id for this request, on everything that is told of it; made when absent. */
  readonly requestId?: string;
  /** The caller's own, on everything that callbacks are told; kept in the log. */
  readonly context?: JsonObject;
  /** Cancels the run, wherever it is. */
  readonly signal?: AbortSignal;
  /** The conversation it belongs to; one of its own when absent. */
  readonly sessionId?: string;
  /** What happens while another run of the session is live; it waits for its turn when absent. */
  readonly whenBusy?: RunRequest["whenBusy"];
  /** Answers for the user; the agent's when absent. */
  readonly approve?: Approve;
}

/** What a call needs of its agent. */
export interface AskHost {
  readonly agent: string;
  acquire(sessionId: string, isNamed: boolean): Promise<HeldSession>;
  expectRun(run: { readonly sessionId: string; readonly runId: string }): void;
  carryOut(log: Log, run: Run, origin: Pick<RunOrigin, "source">): Promise<unknown>;
  /** True for the runs of calls that are going. */
  isOurs(runId: string): boolean;
  report(error: unknown): string;
  onLeft(ask: Ask): void;
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
}

export class Ask {
  readonly ids: RunIds;
  readonly #host: AskHost;
  readonly #request: AskRequest;
  readonly #outcome = new RunOutcome();
  #held: HeldSession | undefined;
  #run: Run | undefined;
  #finished: Promise<RunEnd> | undefined;
  /** The `run_start`. */
  #firstId = 0;
  #stopped: LoomError | undefined;
  /** A cancel on its way into the log, for a run whose turn has not come. */
  #cancelling: Promise<unknown> | undefined;
  #stopListening: () => void = () => undefined;
  #onNews: () => void = () => undefined;
  readonly #onAbort = (): void =>
    this.stop(new LoomError("cancelled", "the caller has aborted it", {}, { cause: this.#request.signal?.reason }));

  constructor(host: AskHost, request: AskRequest) {
    this.#host = host;
    this.#request = request;
    const { sessionId = randomUUID(), requestId } = request;
    this.ids = { sessionId, runId: randomUUID(), requestId };
  }

  /** Resolves when the run has begun. Called at once, so that observers are told in the caller's context. */
  async begin(): Promise<void> {
    const { signal } = this.#request;
    try {
      if (signal?.aborted === true) this.#onAbort();
      this.#assertWanted();
      signal?.addEventListener("abort", this.#onAbort, { once: true });
      const { sessionId, runId } = this.ids;
      this.#host.expectRun({ sessionId, runId });
      this.#held = await this.#host.acquire(sessionId, this.#request.sessionId !== undefined);
      this.#assertWanted();
      this.#run = await this.#start(this.#held);
    } catch (error) {
      await this.#letGo();
      throw this.#explain(error);
    }
    this.#finished = this.#finish(this.#run, this.#held);
    // Whoever streams does not look at it before the end.
    this.#finished.catch(() => undefined);
  }

  async #start({ session }: HeldSession): Promise<Run> {
    const { message, source, context, whenBusy } = this.#request;
    const { runId, requestId } = this.ids;
    const { liveRun } = session;
    if (liveRun !== undefined && whenBusy !== "interrupt" && liveRun.work.waiting.length > 0)
      this.#refuseToWait(liveRun);
    this.#stopListening = session.onCommit((entries) => this.#take(entries));
    this.#assertWanted();
    const run = await session.startRun({
      agent: this.#host.agent,
      runId,
      requestId,
      message,
      source,
      ...(context === undefined ? {} : { context }),
      ...(whenBusy === undefined ? {} : { whenBusy }),
    });
    if (this.#stopped !== undefined) void run.cancel(this.#stopped.message).catch(() => undefined);
    if (run.status === "live") void this.#host.carryOut(session.log, run, { source }).catch(() => undefined);
    return run;
  }

  /** Ends it, wherever it is; the first reason counts. Does nothing when it is over. */
  stop(why: LoomError): void {
    if (this.#stopped !== undefined) return;
    this.#stopped = why;
    this.#onNews();
    if (this.#run !== undefined) void this.#run.cancel(why.message).catch(() => undefined);
    else if (this.#held !== undefined) this.#cancelling = this.#cancelQueued(this.#held, why.message);
  }

  /** Its turn has not come, or comes just now: the session's inbox knows how to find it in either case. */
  async #cancelQueued({ session: { log } }: HeldSession, reason: string): Promise<void> {
    const { sessionId, runId } = this.ids;
    try {
      await log.submit({ commandId: randomUUID(), sessionId, kind: "cancel", body: { run_id: runId, reason } });
    } catch (error) {
      // Then it is cancelled as soon as it begins.
      this.#host.report(error);
    }
  }

  /** How the run ended, once nothing of it is left; rejects when its end could not be written. */
  get finished(): Promise<RunEnd> {
    return this.#finished ?? Promise.reject(new LoomError("internal_error", "the run was not begun"));
  }

  async toResult(): Promise<RunResult> {
    const end = await this.finished;
    if (end.status === "completed") return this.#outcome.toResult(this.ids);
    throw this.#explain(this.#outcome.toError(end, this.ids));
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
    void answerQuestion(run, event, { approve, requestId, report: (error) => void this.#host.report(error) });
  }

  /** A run that was left by somebody, and goes on here, asks a user nobody here can reach. */
  #onForeignQuestion(runId = ""): void {
    if (!this.#host.isOurs(runId)) this.stop(waitsForUser(runId));
  }

  #refuseToWait({ runId }: Run): void {
    if (!this.#host.isOurs(runId)) throw waitsForUser(runId);
  }

  async #finish(run: Run, held: HeldSession): Promise<RunEnd> {
    try {
      return await run.ended;
    } catch (error) {
      // The log failed. Whoever opens the session next must not go on with a run that was reported as failed.
      await held.session.repair().catch(() => undefined);
      throw this.#explain(error);
    } finally {
      await this.#letGo();
    }
  }

  async #letGo(): Promise<void> {
    this.#request.signal?.removeEventListener("abort", this.#onAbort);
    this.#stopListening();
    this.#onNews();
    await this.#cancelling;
    try {
      // A cancel that came too late is answered, so that no other process is woken by it.
      if (this.#cancelling !== undefined && this.#run !== undefined) await this.#held?.session.idle();
    } catch {
      // The session is closed, and with it the inbox.
    }
    try {
      await this.#held?.release();
    } catch (error) {
      this.#host.report(error);
    }
    this.#host.onLeft(this);
  }

  #assertWanted(): void {
    if (this.#stopped !== undefined) throw this.#stopped;
  }

  /** What the caller is told: our codes, and where to look. */
  #explain(error: unknown): LoomError {
    const ids = describeIds(this.ids);
    const stopped = this.#stopped;
    if (stopped !== undefined && (this.#run === undefined || isLoomError(error, "cancelled")))
      return new LoomError(stopped.code, stopped.message, { ...stopped.details, ...ids }, { cause: stopped.cause });
    if (isLoomError(error))
      return new LoomError(error.code, error.message, { ...error.details, ...ids }, { cause: error });
    const error_id = this.#host.report(error);
    return new LoomError("run_failed", "the run could not be carried out", { error_id, ...ids }, { cause: error });
  }
}

function waitsForUser(runId: string): LoomError {
  return new LoomError("run_live", "another run of the session waits for its user", { live_run_id: runId });
}
