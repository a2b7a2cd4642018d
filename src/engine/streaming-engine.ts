/**
 * The sender of specification 003: one request, nine methods, each giving the frame it sent. A thin layer over a run:
 * it writes the same records as any agent, and its frames are those a reader of the log gets in the `engine` dialect.
 *
 * Every method gives a promise that may be ignored: a rejection nobody looks at does not end the process. Whoever awaits
 * it is told; whoever does not finds out by `signal`, which aborts when the log fails or the request is cancelled.
 */
import { randomUUID } from "node:crypto";
import { createRecordReader, DIALECTS, type Encoder } from "../dialects/index.ts";
import { given } from "../dialects/given.ts";
import { NODE_NAME, splitResultObject } from "../dialects/tool-values.ts";
import { MemoryLog } from "../log/memory-log.ts";
import type { Log, LogEntry } from "../log/log.ts";
import {
  type AnyEvent,
  isJsonObject,
  type JsonObject,
  LoomError,
  type RunEndEvent,
  type StampedRecord,
} from "../protocol/index.ts";
import { checkEvent } from "./check-event.ts";
import type { NodeRun } from "./node-run.ts";
import type { Run } from "./run.ts";
import type { RunFailure } from "./run-contract.ts";
import { type Send, type SentFrame, SendQueue } from "./send-queue.ts";
import { type Pushed, quiet, refuse } from "./sequencer.ts";
import { openSession, type Session } from "./session.ts";
import type { SessionOptions } from "./session-options.ts";
import { showWarning } from "./show-warning.ts";

export interface StreamingEngineOptions {
  /** Where the run is stored; a log in memory when absent. */
  readonly log?: Log;
  /** The session to write; without it one is opened at the start and closed at the end. */
  readonly session?: Session;
  readonly sessionOptions?: SessionOptions;
  /** Carries frames to the client. When it fails, the run goes on. */
  readonly send?: Send;
  /** Bytes that wait to be sent; beyond it frames are not sent, and counted. */
  readonly maxSendBacklogBytes?: number;
  /** Frames kept in `frames`. */
  readonly keep?: number;
  /**
   * Told of every frame once it is durable, in order, with the record it was made of: for logging. What it throws, or
   * its promise rejects with, is shown as a warning of the process and disturbs nothing.
   */
  readonly onFrame?: (frame: string, record: StampedRecord) => unknown;
  /** Sends `details.stack_trace` of errors. */
  readonly debug?: boolean;
  readonly now?: () => number;
}

/** Calls that may wait while the request is being started; code `backlog_full`. */
const MAX_EARLY_CALLS = 10_000;

const readRecord = createRecordReader();

export class StreamingEngine {
  readonly requestId: string;
  readonly startTime: number;
  readonly #options: StreamingEngineOptions;
  readonly #encoder: Encoder;
  readonly #queue: SendQueue;
  readonly #runId = randomUUID();
  /** Frames somebody waits for, by the id of their record. */
  readonly #wanted = new Map<number, string>();
  #firstFrame = "";
  #lastFrame = "";
  #sequence = 0;
  #session: Session | undefined;
  #run: Run | undefined;
  #node: NodeRun | undefined;
  #stop: () => void = () => undefined;
  #isStarted = false;
  /** Calls that came while the request was being started, in order; undefined when it is not. */
  #early: (() => void)[] | undefined;
  /** More came than may wait. */
  #overflow: LoomError | undefined;
  #lastError: RunFailure | undefined;

  constructor(requestId: string, options: StreamingEngineOptions = {}) {
    const { send, maxSendBacklogBytes = 1024 * 1024, keep = 1000, debug = false, now = Date.now } = options;
    this.requestId = requestId;
    this.startTime = now();
    this.#options = options;
    this.#encoder = DIALECTS.engine.createEncoder({ debug });
    this.#queue = new SendQueue({ send, maxBytes: maxSendBacklogBytes, keep, now });
  }

  /** The number the next frame gets. */
  get sequence(): number {
    return this.#sequence;
  }

  /** The run underneath; undefined before the start. */
  get run(): Run | undefined {
    return this.#run;
  }

  /** Aborted when the request is cancelled or fails; undefined before the start. */
  get signal(): AbortSignal | undefined {
    return this.#run?.signal;
  }

  /** The latest frames and what became of them, for whoever debugs. */
  get frames(): readonly SentFrame[] {
    return this.#queue.frames;
  }

  get sendFailures(): number {
    return this.#queue.failures;
  }

  /** Resolves when all frames were handed to `send`. */
  drained(): Promise<void> {
    return this.#queue.drained();
  }

  /** Begins the request; when another run of the session is live, it waits for its turn. */
  emitSessionStart(sessionId: string): Promise<string> {
    return quiet(this.#start(sessionId));
  }

  async #start(sessionId: string): Promise<string> {
    if (this.#isStarted) throw new LoomError("run_live", `request ${this.requestId} was started before`);
    this.#isStarted = true;
    this.#early = [];
    try {
      const session = await this.#openSession(sessionId);
      this.#session = session;
      this.#stop = session.onCommit((entries) => this.#take(entries));
      const run = await session.startRun({ runId: this.#runId, requestId: this.requestId });
      this.#run = run;
      // It may have been cancelled before it began.
      if (run.status === "live") this.#node = run.enter(NODE_NAME);
      const release = (): Promise<void> => this.#release();
      void run.ended.then(release, release);
      this.#catchUp();
      if (this.#overflow !== undefined) void run.fail({ message: this.#overflow.message, code: this.#overflow.code });
      return this.#firstFrame;
    } catch (error) {
      this.#isStarted = false;
      this.#catchUp();
      await this.#release();
      throw error;
    }
  }

  emitThinking(content: string, stage?: string): Promise<string> {
    return this.#emit({ type: "reasoning_chunk", ...given({ content, id: NODE_NAME, stage }) });
  }

  emitToolCallStart(toolId: string, toolName: string, description: string, args: JsonObject): Promise<string> {
    const call = { call_id: toolId, name: toolName, arguments: args, ...given({ description }) };
    return this.#post(({ run, node }) => run.postToolStart(call, { nodeId: node.nodeId }));
  }

  emitToolCallProgress(toolId: string, progress: number, message?: string): Promise<string> {
    return this.#emit({ type: "tool_progress", ...given({ call_id: toolId, progress, message }) });
  }

  emitToolCallEnd(
    toolId: string,
    status: "success" | "failed",
    result?: JsonObject,
    error?: { readonly message: string; readonly code?: string },
    durationMs?: number,
  ): Promise<string> {
    return this.#post(({ run, node }) => {
      if (status !== "success" && status !== "failed") throw invalid("status", "`status` must be success or failed");
      if (result != null && !isJsonObject(result)) throw invalid("result", "`result` must be an object");
      const call = run.work.findCall(toolId);
      if (call?.name === undefined) throw invalid("tool_id", `there is no call ${toolId} that is open`);
      const value =
        status === "success"
          ? splitResultObject(result ?? undefined)
          : { result: error?.message ?? "", ...given({ output: result ?? undefined, error_code: error?.code }) };
      const end = { type: "tool_end", call_id: toolId, name: call.name, is_error: status === "failed", ...value };
      return run.post({ ...end, ...given({ duration_ms: durationMs }) }, { nodeId: node.nodeId });
    });
  }

  emitContent(content: string, format = "markdown", isComplete = false): Promise<string> {
    return this.#emit({ type: "message_chunk", content, id: NODE_NAME, format, is_complete: isComplete });
  }

  emitData(
    dataType: "dataframe" | "chart" | "image" | "custom",
    data: JsonObject,
    metadata?: JsonObject,
  ): Promise<string> {
    return this.#emit({ type: "data", ...given({ data_type: dataType, data, metadata }) });
  }

  emitError(
    errorType: "validation" | "execution" | "timeout" | "system",
    message: string,
    details?: JsonObject,
    recoverable = false,
  ): Promise<string> {
    return this.#post(({ run, node }) => {
      const event = { type: "error", ...given({ error_type: errorType, message, details, recoverable }) };
      const posted = run.post(event, { nodeId: node.nodeId });
      this.#lastError = { message };
      return posted;
    });
  }

  /** Ends the request; the reply of a completed one is the content that was sent. */
  emitSessionEnd(status: RunEndEvent["status"], summary?: RunEndEvent["summary"]): Promise<string> {
    return this.#inOrder(() => this.#end(status, summary));
  }

  async #end(status: RunEndEvent["status"], summary: RunEndEvent["summary"]): Promise<string> {
    const { run, node } = this.#live();
    try {
      checkEvent({ type: "run_end", ...given({ status, summary }) });
    } catch (error) {
      run.noteRefusal(error);
      throw error;
    }
    const totals = summary == null ? {} : { summary };
    if (status === "completed") void node.done();
    const ended =
      status === "completed"
        ? run.finish(totals)
        : status === "cancelled"
          ? run.cancel(undefined, totals)
          : run.fail(this.#lastError ?? { message: "the request failed" }, { recorded: true, ...totals });
    await ended;
    await this.#release();
    return this.#lastFrame;
  }

  async #openSession(sessionId: string): Promise<Session> {
    const { session, log = new MemoryLog(), sessionOptions, now } = this.#options;
    if (session === undefined)
      return openSession(log, sessionId, { ...(now === undefined ? {} : { now }), ...sessionOptions });
    if (session.sessionId !== sessionId)
      throw invalid("session_id", `the engine writes session "${session.sessionId}", not "${sessionId}"`);
    return session;
  }

  /** Stops listening, and closes the session unless it is somebody else's. */
  async #release(): Promise<void> {
    this.#stop();
    if (this.#options.session === undefined) await this.#session?.close();
  }

  #live(): { readonly run: Run; readonly node: NodeRun } {
    const run = this.#run;
    if (run === undefined) throw new LoomError("unknown_run", `request ${this.requestId} was not started`);
    const node = this.#node;
    if (run.status !== "live" || node === undefined)
      throw new LoomError("run_ended", `request ${this.requestId} is over: ${run.status}`);
    return { run, node };
  }

  #emit(event: AnyEvent): Promise<string> {
    return this.#post(({ run, node }) => run.post(event, { nodeId: node.nodeId }));
  }

  #post(push: (live: { readonly run: Run; readonly node: NodeRun }) => Pushed): Promise<string> {
    return this.#inOrder(() => this.#frameOf(push));
  }

  /** Does it now, or after what waits for the request to be started. */
  #inOrder(task: () => Promise<string>): Promise<string> {
    const early = this.#early;
    if (early === undefined) return quiet(task());
    if (early.length >= MAX_EARLY_CALLS) {
      this.#overflow ??= new LoomError("backlog_full", `${MAX_EARLY_CALLS} calls wait for the request to be started`);
      return refuse(this.#overflow);
    }
    const { promise, resolve } = Promise.withResolvers<string>();
    early.push(() => resolve(task()));
    return quiet(promise);
  }

  #catchUp(): void {
    const early = this.#early ?? [];
    this.#early = undefined;
    for (const call of early) call();
  }

  /** Pushes at once; gives the frame of the last record that was pushed, once it is durable. */
  async #frameOf(push: (live: { readonly run: Run; readonly node: NodeRun }) => Pushed): Promise<string> {
    const live = this.#live();
    let pushed: Pushed;
    try {
      pushed = push(live);
    } catch (error) {
      live.run.noteRefusal(error);
      throw error;
    }
    const { lastId, durable } = pushed;
    this.#wanted.set(lastId, "");
    try {
      await durable;
      return this.#wanted.get(lastId) ?? "";
    } finally {
      this.#wanted.delete(lastId);
    }
  }

  /** What was committed is read back from its text: frames are made of what a reader of the log will find. */
  #take(entries: readonly LogEntry[]): void {
    for (const { record, text } of entries) {
      if (record.envelope.run_id !== this.#runId) continue;
      const stored = readRecord(text);
      if (stored === undefined) continue;
      for (const frame of this.#encoder.encode(stored as StampedRecord)) {
        this.#sequence++;
        if (this.#firstFrame === "") this.#firstFrame = frame;
        this.#lastFrame = frame;
        this.#queue.push(frame);
        this.#tell(frame, stored as StampedRecord);
      }
      const { event_id } = record.envelope;
      if (this.#wanted.has(event_id)) this.#wanted.set(event_id, this.#lastFrame);
    }
  }

  #tell(frame: string, record: StampedRecord): void {
    const { onFrame } = this.#options;
    if (onFrame === undefined) return;
    try {
      Promise.resolve(onFrame(frame, record)).catch(showWarning);
    } catch (error) {
      showWarning(error);
    }
  }
}

function invalid(path: string, message: string): LoomError {
  return new LoomError("invalid_event", message, { path });
}
