/**
 * The sender of specification 003: one request with nine methods, each of which returns its frame. It is a thin
 * layer over a run. It writes the same records as an agent, and its frames are those that a reader of the log gets in
 * the `engine` dialect.
 */
import { randomUUID } from "node:crypto";
import { engine } from "../dialects/engine/index.ts";
import type { Encoder } from "../dialects/index.ts";
import { createRecordReader } from "../dialects/loom/decode.ts";
import { dropUndefined } from "../protocol/drop-undefined.ts";
import { DEFAULT_NODE_NAME, splitResultObject } from "../dialects/tool-values.ts";
import { MemoryLog } from "../log/memory-log.ts";
import type { Log, LogEntry } from "../log/log.ts";
import { type AnyEvent, type JsonObject, LoomError, type StampedRecord } from "../protocol/index.ts";
import { isJsonObject } from "../protocol/json.ts";
import type { RunEndEvent } from "../protocol/events.generated.ts";
import { describeValue } from "../protocol/fault.ts";
import { checkEvent } from "./check-event.ts";
import type { NodeRun } from "./node-run.ts";
import type { Run } from "./run.ts";
import type { RunFailure } from "./run-contract.ts";
import { type Send, type SentFrame, SendQueue } from "./send-queue.ts";
import { type PushResult, markHandled, rejectHandled } from "./sequencer.ts";
import { openSession, type Session } from "./session.ts";
import type { SessionOptions } from "./session-options.ts";
import { showWarning } from "./error-reporter.ts";

/** Options of `StreamingEngine`. */
export interface StreamingEngineOptions {
  /** Log that stores the run. Default: a new log in memory. */
  readonly log?: Log;
  /** Session to write. Default: a session is opened at the start and closed at the end. */
  readonly session?: Session;
  /** Options for the session that the engine opens. Ignored if `session` is given. */
  readonly sessionOptions?: SessionOptions;
  /**
   * Sends a frame to the client. If it fails, or more than 1 MiB wait to be sent, the frame is counted and the run
   * continues. Default: frames are not sent.
   */
  readonly send?: Send;
  /**
   * Called for every frame when it is durable, in order, with its record. For logging: an error or rejection becomes a
   * process warning.
   */
  readonly onFrame?: (frame: string, record: StampedRecord) => unknown;
  /** Include `details.stack_trace` of errors in frames. Default: false. */
  readonly debug?: boolean;
  /** Unit of `metadata.timestamp` in frames; the log always has milliseconds. Default: `milliseconds`. */
  readonly timestamps?: "milliseconds" | "seconds";
  /** Clock, in milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number;
}

/** Maximum calls that wait for the request to start; code `backlog_full`. */
const MAX_EARLY_CALLS = 10_000;

/** The values of 003 §1.3. */
const STAGES = ["reasoning", "planning", "analyzing"] as const;
const UNITS = ["milliseconds", "seconds"] as const;
const FORMATS = ["markdown", "text", "html"] as const;

const readRecord = createRecordReader();

/** The run of a request that has started and not ended. */
interface LiveRequest {
  readonly run: Run;
  readonly node: NodeRun;
}

/**
 * Streams one request to a client in the format of specification 003, and stores it in a log.
 *
 * Call `emitSessionStart` first and `emitSessionEnd` last. Every method resolves to its frame when the record is
 * durable. Calls made while the request starts are queued and keep their order.
 *
 * The promises may be ignored: a rejection that is not handled does not end the process. To notice a failure anyway,
 * use `signal`, which aborts when the log fails or the request is cancelled.
 *
 * ```ts
 * const engine = new StreamingEngine("req-1", { send: (frame) => socket.send(frame) });
 * await engine.emitSessionStart("session-1");
 * await engine.emitThinking("The user greets me.");
 * await engine.emitContent("Hello!", "markdown", true);
 * await engine.emitSessionEnd("completed");
 * ```
 */
export class StreamingEngine {
  /** The client's ID of the request. */
  readonly requestId: string;
  /** When the engine was created, in milliseconds since 1970. */
  readonly startTime: number;
  readonly #options: StreamingEngineOptions;
  readonly #encoder: Encoder;
  readonly #queue: SendQueue;
  readonly #runId = randomUUID();
  /** Frames that a caller waits for, by the ID of their record. */
  readonly #awaitedFrames = new Map<number, string>();
  #firstFrame = "";
  #lastFrame = "";
  #sequence = 0;
  #session: Session | undefined;
  #run: Run | undefined;
  #node: NodeRun | undefined;
  #stop: () => void = () => undefined;
  #isStarted = false;
  /** Calls made while the request starts, in order; undefined at other times. */
  #earlyCalls: (() => void)[] | undefined;
  /** Set when too many calls waited for the start. */
  #overflow: LoomError | undefined;
  #lastError: RunFailure | undefined;

  constructor(requestId: string, options: StreamingEngineOptions = {}) {
    const { send, debug = false, now = Date.now, timestamps = "milliseconds" } = options;
    assertOneOf("timestamps", UNITS, timestamps);
    this.requestId = requestId;
    this.startTime = now();
    this.#options = options;
    this.#encoder = engine.createEncoder({ debug, timestamps });
    this.#queue = new SendQueue(send, now);
  }

  /** Sequence number of the next frame. */
  get sequence(): number {
    return this.#sequence;
  }

  /** The run of this request; undefined before the start. */
  get run(): Run | undefined {
    return this.#run;
  }

  /** Aborted when the request is cancelled or fails; undefined before the start. */
  get signal(): AbortSignal | undefined {
    return this.#run?.signal;
  }

  /** The most recent 1,000 frames and whether they were sent, for debugging. */
  get frames(): readonly SentFrame[] {
    return this.#queue.frames;
  }

  /** Number of frames that could not be sent. */
  get sendFailures(): number {
    return this.#queue.failures;
  }

  /** Resolves when all frames have been passed to `send`. */
  drained(): Promise<void> {
    return this.#queue.drained();
  }

  /** Starts the request. If another run of the session is live, it waits for its turn. */
  emitSessionStart(sessionId: string): Promise<string> {
    return markHandled(this.#start(sessionId));
  }

  async #start(sessionId: string): Promise<string> {
    if (this.#isStarted) throw new LoomError("run_live", `Request ${this.requestId} was already started`);
    this.#isStarted = true;
    this.#earlyCalls = [];
    try {
      const session = await this.#openSession(sessionId);
      this.#session = session;
      this.#stop = session.onCommit((entries) => this.#encodeCommitted(entries));
      const run = await session.startRun({ runId: this.#runId, requestId: this.requestId });
      this.#run = run;
      // It may have been cancelled before it started.
      if (run.status === "live") this.#node = run.enter(DEFAULT_NODE_NAME);
      const release = (): Promise<void> => this.#release();
      void run.ended.then(release, release);
      this.#runEarlyCalls();
      if (this.#overflow !== undefined) void run.fail({ message: this.#overflow.message, code: this.#overflow.code });
      return this.#firstFrame;
    } catch (error) {
      this.#isStarted = false;
      this.#runEarlyCalls();
      await this.#release();
      throw error;
    }
  }

  /** Sends a piece of reasoning, which is not part of the reply. */
  emitThinking(content: string, stage?: (typeof STAGES)[number]): Promise<string> {
    return this.#emit({ type: "reasoning_chunk", ...dropUndefined({ content, id: DEFAULT_NODE_NAME, stage }) }, () =>
      assertOneOf("stage", STAGES, stage ?? undefined),
    );
  }

  /** Starts a tool call. `toolId` must be unique within the request. */
  emitToolCallStart(toolId: string, toolName: string, description: string, args: JsonObject): Promise<string> {
    const call = { call_id: toolId, name: toolName };
    const events = [
      { type: "tool_call", ...call, arguments: args, ...dropUndefined({ description }) },
      { type: "tool_start", ...call },
    ];
    return this.#post(({ run, node }) => run.postUnit(events, { nodeId: node.nodeId }));
  }

  /** Reports the progress of a started tool call. */
  emitToolCallProgress(toolId: string, progress: number, message?: string): Promise<string> {
    return this.#emit({ type: "tool_progress", ...dropUndefined({ call_id: toolId, progress, message }) });
  }

  /** Ends a tool call with a result, or with an error if `status` is `failed`. */
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
      // Callers in JavaScript may pass anything.
      const id: unknown = toolId;
      const call = typeof id === "string" ? run.work.findCall(id.toWellFormed()) : undefined;
      if (call?.name === undefined) throw invalid("tool_id", `There is no open call ${toolId}`);
      const value =
        status === "success"
          ? splitResultObject(result ?? undefined)
          : {
              result: error?.message ?? "",
              ...dropUndefined({ output: result ?? undefined, error_code: error?.code }),
            };
      const end = { type: "tool_end", call_id: toolId, name: call.name, is_error: status === "failed", ...value };
      return run.post({ ...end, ...dropUndefined({ duration_ms: durationMs }) }, { nodeId: node.nodeId });
    });
  }

  /** Sends a piece of the answer. */
  emitContent(content: string, format: (typeof FORMATS)[number] = "markdown", isComplete = false): Promise<string> {
    const event = { type: "message_chunk", content, id: DEFAULT_NODE_NAME, format, is_complete: isComplete };
    return this.#emit(event, () => assertOneOf("format", FORMATS, format));
  }

  /** Sends structured data, such as a table or a chart. */
  emitData(
    dataType: "dataframe" | "chart" | "image" | "custom",
    data: JsonObject,
    metadata?: JsonObject,
  ): Promise<string> {
    return this.#emit({ type: "data", ...dropUndefined({ data_type: dataType, data, metadata }) });
  }

  /** Sends an error. It does not end the request; call `emitSessionEnd("error")` for that. */
  emitError(
    errorType: "validation" | "execution" | "timeout" | "system",
    message: string,
    details?: JsonObject,
    recoverable = false,
  ): Promise<string> {
    return this.#post(({ run, node }) => {
      const event = { type: "error", ...dropUndefined({ error_type: errorType, message, details, recoverable }) };
      const posted = run.post(event, { nodeId: node.nodeId });
      this.#lastError = { message };
      return posted;
    });
  }

  /**
   * Ends the request. The reply of a completed request is the content sent so far. The frame has the given summary, and
   * nothing that the engine counted itself.
   */
  emitSessionEnd(status: RunEndEvent["status"], summary?: RunEndEvent["summary"]): Promise<string> {
    return this.#inOrder(() => this.#end(status, summary));
  }

  async #end(status: RunEndEvent["status"], summary: RunEndEvent["summary"]): Promise<string> {
    const { run, node } = this.#live();
    try {
      checkEvent({ type: "run_end", ...dropUndefined({ status, summary }) });
    } catch (error) {
      run.reportRejection(error);
      throw error;
    }
    run.omitTotals();
    const totals = summary == null ? {} : { summary };
    if (status === "completed") void node.done();
    const ended =
      status === "completed"
        ? run.finish(totals)
        : status === "cancelled"
          ? run.cancel(undefined, totals)
          : run.fail(this.#lastError ?? { message: "The request failed" }, { recorded: true, ...totals });
    await ended;
    await this.#release();
    return this.#lastFrame;
  }

  async #openSession(sessionId: string): Promise<Session> {
    const { session, log = new MemoryLog(), sessionOptions, now } = this.#options;
    if (session === undefined)
      return openSession(log, sessionId, { ...(now === undefined ? {} : { now }), ...sessionOptions });
    if (session.sessionId !== sessionId)
      throw invalid("session_id", `The engine writes session "${session.sessionId}", not "${sessionId}"`);
    return session;
  }

  /** Stops listening, and closes the session if the engine opened it. */
  async #release(): Promise<void> {
    this.#stop();
    if (this.#options.session === undefined) await this.#session?.close();
  }

  #live(): LiveRequest {
    const run = this.#run;
    if (run === undefined)
      throw new LoomError("unknown_run", `Request ${this.requestId} was not started; call emitSessionStart first`);
    const node = this.#node;
    if (run.status !== "live" || node === undefined)
      throw new LoomError("run_ended", `Request ${this.requestId} has ended: ${run.status}`);
    return { run, node };
  }

  #emit(event: AnyEvent, assert?: () => void): Promise<string> {
    return this.#post(({ run, node }) => {
      assert?.();
      return run.post(event, { nodeId: node.nodeId });
    });
  }

  #post(push: (live: LiveRequest) => PushResult): Promise<string> {
    return this.#inOrder(() => this.#frameOf(push));
  }

  /** Runs the task now, or after the calls that wait for the start. */
  #inOrder(task: () => Promise<string>): Promise<string> {
    const early = this.#earlyCalls;
    if (early === undefined) return markHandled(task());
    if (early.length >= MAX_EARLY_CALLS) {
      const message = `More than ${MAX_EARLY_CALLS} calls wait for the request to start`;
      this.#overflow ??= new LoomError("backlog_full", message);
      return rejectHandled(this.#overflow);
    }
    const { promise, resolve } = Promise.withResolvers<string>();
    early.push(() => resolve(task()));
    return markHandled(promise);
  }

  #runEarlyCalls(): void {
    const early = this.#earlyCalls ?? [];
    this.#earlyCalls = undefined;
    for (const call of early) call();
  }

  /** Pushes at once. Resolves to the frame of the last pushed record when it is durable. */
  async #frameOf(push: (live: LiveRequest) => PushResult): Promise<string> {
    const live = this.#live();
    let pushed: PushResult;
    try {
      pushed = push(live);
    } catch (error) {
      live.run.reportRejection(error);
      throw error;
    }
    const { lastId, durable } = pushed;
    this.#awaitedFrames.set(lastId, "");
    try {
      await durable;
      return this.#awaitedFrames.get(lastId) ?? "";
    } finally {
      this.#awaitedFrames.delete(lastId);
    }
  }

  /** Decodes the stored text, so that frames match those a reader of the log gets. */
  #encodeCommitted(entries: readonly LogEntry[]): void {
    for (const { record, text } of entries) {
      if (record.envelope.run_id !== this.#runId) continue;
      const stored = readRecord(text);
      if (stored === undefined) continue;
      for (const frame of this.#encoder.encode(stored as StampedRecord)) {
        this.#sequence++;
        if (this.#firstFrame === "") this.#firstFrame = frame;
        this.#lastFrame = frame;
        this.#queue.push(frame);
        this.#notifyFrame(frame, stored as StampedRecord);
      }
      const { event_id } = record.envelope;
      if (this.#awaitedFrames.has(event_id)) this.#awaitedFrames.set(event_id, this.#lastFrame);
    }
  }

  #notifyFrame(frame: string, record: StampedRecord): void {
    const { onFrame } = this.#options;
    if (onFrame === undefined) return;
    try {
      Promise.resolve(onFrame(frame, record)).catch(showWarning);
    } catch (error) {
      showWarning(error);
    }
  }
}

/** 003 defines all values. Receivers accept others, but this sender does not send them. */
function assertOneOf(path: string, values: readonly string[], given: unknown): void {
  if (given !== undefined && !values.includes(given as string))
    throw invalid(path, `\`${path}\` must be ${values.join(", ")}, not ${describeValue(given)}`);
}

function invalid(path: string, message: string): LoomError {
  return new LoomError("invalid_event", message, { path });
}
