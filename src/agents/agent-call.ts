/**
 * One call of `run` or `stream`: its session, its run, the caller's signal and the approval requests.
 *
 * Invariant: however the call ends, the run is over, listeners are removed and the session is released before the
 * caller gets the result or the error.
 */
import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import type { Run, RunEnd, RunRequest, Session } from "../engine/index.ts";
import type { OnInterruption, RunOrigin } from "../engine/run-origin.ts";
import type { Log } from "../log/index.ts";
import type { LogEntry } from "../log/log.ts";
import { isLoomError, LoomError } from "../protocol/index.ts";
import type { ToolApprovalEvent, ToolStartEvent } from "../protocol/events.generated.ts";
import type { ClientTool } from "../protocol/run-additions.ts";
import type { ApprovalReply, ClientCallReply } from "../engine/run-contract.ts";
import { answerApproval, type Approve } from "./answer-approval.ts";
import type { CheckedAgentInput } from "./agent-input.ts";
import type { AnswerOptions } from "./agent-strategy.ts";
import type { AgentBlobs } from "./attachments.ts";
import type { CallQueueRequest, QueuedCall } from "./call-queues.ts";
import type { RunAttachments } from "./compose-question.ts";
import { AttachmentLoader, type FileStorage } from "./load-attachments.ts";
import type { OutputFormat, OutputOptions } from "./output-format.ts";
import { describeIds, findCause, type RunIds, RunResultFold, type RunResult } from "./run-result.ts";
import type { HeldSession } from "./agent-sessions.ts";
import { type ContextRunner, isInsideSession } from "./parent-call.ts";
import { writeHistory } from "./write-history.ts";

/** Options of one call of `run`, `stream` or `events`. */
export interface AgentCallOptions extends OutputOptions {
  /** The caller's ID of this request, part of every event and record. Default: a random ID. */
  readonly requestId?: string;
  /**
   * An object of JSON values that callbacks receive with every event. It is stored in the log, where every reader of
   * the session can see it in the dialects `loom` and `export`. Do not put secrets in it. Default: none.
   */
  readonly context?: object;
  /** Aborting it cancels the run at any point. */
  readonly signal?: AbortSignal;
  /** The conversation that the message belongs to. Default: a new session. */
  readonly sessionId?: string;
  /**
   * What to do while another run of the session is live: wait for its turn (`enqueue`, the default), fail with
   * `run_live` (`reject`), or cancel the live run (`interrupt`). If another process, another agent or an `openSession`
   * holds the session, `enqueue` waits for up to `sessionWaitMs`; the others fail with `lease_held`.
   */
  readonly whenBusy?: RunRequest["whenBusy"];
  /** Answers approval requests. Default: the agent's `approve`. */
  readonly approve?: Approve;
  /**
   * Tools that a client carries out, in addition to those of the agent. The run waits for each result: `events` yields
   * `tool_start` with the method `answer`, and other processes answer through the log. Default: none.
   */
  readonly clientTools?: readonly ClientTool[];
  /**
   * Instructions for this call only, added to the system prompt after those of the agent, which take precedence. Stored
   * in `run_start`, and not part of the conversation. At most 32 KiB. Default: none.
   */
  readonly instructions?: string;
  /**
   * What to do when the process dies: run the interrupted nodes again (`resume`), or end the run as `interrupted`
   * (`fail`). Default: `fail` with `output`, because only this process has the schema; otherwise the setting of the
   * agent.
   */
  readonly onInterruption?: OnInterruption;
}

/** What a call needs from its agent. */
export interface AgentCallHost {
  readonly agent: string;
  /** Where the files of messages are kept. Undefined if the agent accepts none. */
  readonly files?: FileStorage | undefined;
  /** Throws `run_live`. */
  enqueue(request: CallQueueRequest): QueuedCall;
  enterContext(ids: RunIds): ContextRunner;
  acquire(sessionId: string, isNamed: boolean): Promise<HeldSession>;
  /** Maximum milliseconds to wait for a session that another writer holds. */
  readonly sessionWaitMs: number;
  expectRun(run: { readonly sessionId: string; readonly runId: string }): void;
  executeRun(log: Log, run: Run, options: ExecuteRunOptions): Promise<unknown>;
  /** True for the runs of active calls. */
  isActive(runId: string): boolean;
  report(error: unknown): string;
  /** Like `report`. Without `onError`, the error is shown as a process warning. */
  reportOrWarn(error: unknown): string;
  /** Resolves when the callbacks have handled the events so far, or after a time limit. */
  flushCallbacks(): Promise<unknown>;
  onReleased(call: AgentCall): void;
}

/** Options of `Agent.executeRun`. */
export interface ExecuteRunOptions extends AnswerOptions {
  /** Called with the error that made the run fail, as it was thrown. */
  readonly onFailure?: (error: unknown) => void;
}

export interface AgentCallRequest {
  readonly input: CheckedAgentInput;
  /** The request of the run, without the message. Default of `agent`: the name of the agent. */
  readonly origin: Omit<RunOrigin, "runId" | "message" | "attachments"> & { readonly requestId: string };
  readonly sessionId: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly whenBusy: RunRequest["whenBusy"];
  readonly approve: Approve | undefined;
  /** False if no client can carry out tool calls: they end as `client_unavailable`. */
  readonly hasClient: boolean;
  readonly output?: OutputFormat | undefined;
}

export class AgentCall {
  readonly ids: RunIds;
  readonly #host: AgentCallHost;
  readonly #request: AgentCallRequest;
  readonly #outcome = new RunResultFold();
  #runInContext: ContextRunner = (work) => work();
  #queued: QueuedCall | undefined;
  #held: HeldSession | undefined;
  #run: Run | undefined;
  #failure: unknown;
  #finished: Promise<RunEnd> | undefined;
  /** ID of the `run_start`; 0 until it is written. */
  #firstEventId = 0;
  #stopped: LoomError | undefined;
  /** Aborted when the call is stopped. */
  readonly #loading = new AbortController();
  /** Rejects when the call is stopped. */
  readonly #stopSignal = Promise.withResolvers<never>();
  #stopListening: () => void = () => undefined;
  #onChange: () => void = () => undefined;
  readonly #onAbort = (): void =>
    this.stop(new LoomError("cancelled", "The caller aborted the run", {}, { cause: this.#request.signal?.reason }));

  constructor(host: AgentCallHost, request: AgentCallRequest) {
    this.#host = host;
    this.#request = request;
    const { sessionId = randomUUID(), origin } = request;
    this.ids = { sessionId, runId: randomUUID(), requestId: origin.requestId };
    this.#stopSignal.promise.catch(() => undefined);
  }

  /**
   * Starts the run; resolves when it has started. Runs synchronously up to `expectRun`, so that observers are called in
   * the caller's async context.
   */
  async begin(): Promise<void> {
    const { signal, whenBusy } = this.#request;
    try {
      if (signal?.aborted === true) this.#onAbort();
      this.#assertNotStopped();
      signal?.addEventListener("abort", this.#onAbort, { once: true });
      const { sessionId, runId } = this.ids;
      const onInterrupt = (): void => this.stop(new LoomError("cancelled", "Interrupted by a new message"));
      this.#queued = this.#host.enqueue({ sessionId, runId, whenBusy, onInterrupt });
      this.#runInContext = this.#host.enterContext(this.ids);
      this.#host.expectRun({ sessionId, runId });
      this.#held = await this.#acquire(this.#queued);
      this.#assertNotStopped();
      await this.#waitForTurn(this.#queued, this.#held.session);
      this.#run = await this.#start(this.#held.session);
    } catch (error) {
      await this.#release();
      throw this.toCallerError(error);
    }
    this.#finished = this.#finish(this.#run, this.#held);
    // `stream` does not await this promise before the end.
    this.#finished.catch(() => undefined);
  }

  /** Opens the session. While another writer holds it, the call whose turn it is tries again. */
  async #acquire(queued: QueuedCall): Promise<HeldSession> {
    const { sessionId: given, whenBusy = "enqueue" } = this.#request;
    const { sessionId } = this.ids;
    // A run around a call cannot end before the call, so that waiting for it would not help.
    const mayWait = whenBusy === "enqueue" && !isInsideSession(sessionId);
    let since: number | undefined;
    let isReported = false;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
      try {
        return await this.#host.acquire(sessionId, given !== undefined);
      } catch (error) {
        if (!mayWait || !isLoomError(error, "lease_held")) throw error;
        await Promise.race([queued.turn, this.#stopSignal.promise]);
        since ??= performance.now();
        const waitedMs = performance.now() - since;
        if (waitedMs >= this.#host.sessionWaitMs) throw error;
        if (!isReported && waitedMs >= REPORT_WAIT_MS) {
          this.#host.reportOrWarn(this.toCallerError(error));
          isReported = true;
        }
      }
      await setTimeout(pauseMs, undefined, { signal: this.#loading.signal });
    }
  }

  async #waitForTurn(queued: QueuedCall, session: Session): Promise<void> {
    const { whenBusy } = this.#request;
    this.#stopListening = session.onCommit((entries) => this.#onCommit(entries));
    await Promise.race([queued.turn, this.#stopSignal.promise]);
    if (whenBusy !== undefined && whenBusy !== "enqueue") return;
    // No other call of this process is active: a live run was left by another process and is being resumed here.
    for (let live = session.liveRun; live?.status === "live"; live = session.liveRun) {
      if (live.work.needsAnswer) throw createWaitingError(live.runId);
      await Promise.race([live.ended.catch(() => undefined), this.#stopSignal.promise]);
    }
  }

  async #start(session: Session): Promise<Run> {
    const { input, origin, whenBusy, output } = this.#request;
    const { agent = this.#host.agent } = origin;
    const { attachments, blobs } = await this.#prepare(session, agent);
    this.#assertNotStopped();
    const run = await session.startRun({
      ...origin,
      agent,
      runId: this.ids.runId,
      message: input.text,
      attachments: attachments.length === 0 ? undefined : attachments,
      // The call has its turn. Nothing may be queued in the log, where it would outlive the caller.
      whenBusy: whenBusy === "interrupt" ? "interrupt" : "reject",
    });
    if (this.#stopped !== undefined) void run.cancel(this.#stopped.message).catch(() => undefined);
    const onFailure = (error: unknown): void => void (this.#failure = error);
    if (run.status === "live")
      void this.#runInContext(() => this.#host.executeRun(session.log, run, { blobs, output, onFailure })).catch(
        () => undefined,
      );
    return run;
  }

  /** Loads the files of the message. In a new session, also writes the messages before it. */
  async #prepare(
    session: Session,
    agent: string,
  ): Promise<{ readonly attachments: RunAttachments; readonly blobs?: AgentBlobs | undefined }> {
    const { earlier, attachments } = this.#request.input;
    if (earlier.length === 0 && attachments.length === 0) return { attachments: [] };
    const { files = { blobs: undefined, options: undefined } } = this.#host;
    const loader = new AttachmentLoader(session.sessionId, files, this.#loading.signal);
    if (earlier.length > 0 && ((await session.log.getSession(session.sessionId))?.lastId ?? 0) === 0)
      await writeHistory(session, earlier, { agent, load: (question) => loader.load(question.attachments) });
    return { attachments: await loader.load(attachments), blobs: loader.blobs };
  }

  /** Stops the call at any point. The first reason counts; does nothing after the end. */
  stop(why: LoomError): void {
    if (this.#stopped !== undefined) return;
    this.#stopped = why;
    this.#loading.abort(why);
    this.#stopSignal.reject(why);
    this.#onChange();
    void this.#run?.cancel(why.message).catch(() => undefined);
  }

  /** How the run ended, once everything is released and callbacks were called. Rejects if the end could not be written. */
  get finished(): Promise<RunEnd> {
    return this.#finished ?? Promise.reject(new LoomError("internal_error", "The run has not started"));
  }

  async toResult(): Promise<RunResult> {
    const end = await this.finished;
    const { output } = this.#request;
    if (end.status === "completed")
      return { ...this.#outcome.toResult(this.ids), ...(output === undefined ? {} : { output: output.value }) };
    throw this.#describeEnd(end);
  }

  /** Throws the error of a run that failed. A cancelled run does not throw. */
  async assertNotFailed(): Promise<void> {
    const end = await this.finished;
    if (end.status === "error") throw this.#describeEnd(end);
  }

  #describeEnd(end: RunEnd): LoomError {
    return this.toCallerError(this.#outcome.toError(end, this.#failure));
  }

  get output(): OutputFormat | undefined {
    return this.#request.output;
  }

  /** ID of the first record of the run; 0 before it has started. */
  get firstEventId(): number {
    return this.#firstEventId;
  }

  /** Where to read the run from. `onChange` is called when more may be readable. */
  startReading(onChange: () => void): { readonly log: Log; readonly after: number } {
    if (this.#held === undefined) throw new LoomError("internal_error", "The run has not started");
    this.#onChange = onChange;
    return { log: this.#held.session.log, after: this.#firstEventId - 1 };
  }

  #onCommit(entries: readonly LogEntry[]): void {
    let isChanged = false;
    for (const { record } of entries) {
      const { event, envelope } = record;
      const isClientCall = event.type === "tool_start" && (event as ToolStartEvent).executor === "client";
      if (envelope.run_id !== this.ids.runId) {
        if ((event.type === "tool_approval" || isClientCall) && this.#run === undefined)
          this.#onForeignWait(envelope.run_id);
        continue;
      }
      isChanged = true;
      if (event.type === "run_start") this.#firstEventId = envelope.event_id;
      else if (event.type === "tool_approval") this.#answer(event as ToolApprovalEvent, envelope.node_id);
      else if (isClientCall) this.#refuseClientCall(event as ToolStartEvent);
      else this.#outcome.add(record);
    }
    if (isChanged) this.#onChange();
  }

  #answer(event: ToolApprovalEvent, nodeId: string | undefined): void {
    const run = this.#run;
    if (run === undefined) return;
    const { approve } = this.#request;
    const { requestId } = this.ids;
    const report = (error: unknown): string => this.#host.reportOrWarn(error);
    void this.#runInContext(() => answerApproval(run, event, { nodeId, approve, requestId, report }));
  }

  /** Answers an approval request of the run. Resolves when the answer is durable. */
  async answerApproval(reply: ApprovalReply): Promise<void> {
    await this.#run?.answerApproval(reply).durable;
  }

  /** Ends a call that no client can carry out. */
  #refuseClientCall({ call_id: callId }: ToolStartEvent): void {
    if (this.#request.hasClient || callId === undefined) return;
    const output = "No client can carry out this call here; it was not run. Continue without it.";
    this.answerCall({ callId, output, isError: true, code: "client_unavailable" }).catch(
      (error: unknown) => void this.#host.report(error),
    );
  }

  /** Sends the result of a call that the client carried out. Resolves when it is durable. */
  async answerCall(reply: ClientCallReply): Promise<void> {
    await this.#run?.answerCall(reply).durable;
  }

  /** A resumed run of another process waits for an answer that this caller cannot give. */
  #onForeignWait(runId = ""): void {
    if (this.#request.whenBusy !== "interrupt" && !this.#host.isActive(runId)) this.stop(createWaitingError(runId));
  }

  async #finish(run: Run, held: HeldSession): Promise<RunEnd> {
    try {
      return await run.ended;
    } catch (error) {
      // The log failed. Repair the session, so that the next one to open it does not resume a run reported as failed.
      await held.session.repair().catch(() => undefined);
      throw this.toCallerError(error);
    } finally {
      await this.#release();
      await this.#host.flushCallbacks();
    }
  }

  async #release(): Promise<void> {
    try {
      this.#request.signal?.removeEventListener("abort", this.#onAbort);
      this.#stopListening();
      this.#onChange();
      this.#queued?.leave();
      await this.#held?.release();
    } catch (error) {
      this.#host.report(error);
    } finally {
      this.#host.onReleased(this);
    }
  }

  #assertNotStopped(): void {
    if (this.#stopped !== undefined) throw this.#stopped;
  }

  /** The error for the caller: a LoomError with the IDs of the session, run and request. */
  toCallerError(error: unknown): LoomError {
    const ids = describeIds(this.ids);
    const stopped = this.#stopped;
    const known =
      stopped !== undefined && (this.#run === undefined || isLoomError(error, "cancelled")) ? stopped : error;
    if (!isLoomError(known)) {
      const error_id = this.#host.report(known);
      return new LoomError("run_failed", "The run could not be executed", { error_id, ...ids }, { cause: known });
    }
    const { code, details } = known;
    const message = code === "lease_held" ? `${known.message}; ${LEASE_HELD_HINT}` : known.message;
    return new LoomError(code, message, { ...details, ...ids }, { cause: findCause(known) });
  }
}

/** Pauses between two attempts to open a session that another writer holds, in milliseconds. */
const FIRST_PAUSE_MS = 20;
const MAX_PAUSE_MS = 500;
/** A longer wait is reported: the session may be held by mistake. */
const REPORT_WAIT_MS = 10_000;

const LEASE_HELD_HINT = "close it in the other agent, process or `openSession`, or wait until its lease expires";

function createWaitingError(runId: string): LoomError {
  return new LoomError("run_live", "Another run of the session waits for the user or a client", { live_run_id: runId });
}
