/**
 * A live run: the object agents write through. It knows its session only through `RunHost`.
 *
 * Invariant: in any order of calls, its records form a valid run, and `run_end` counts them.
 */
import { dropUndefined } from "../protocol/drop-undefined.ts";
import type { LogEntry, RunStatus } from "../log/log.ts";
import { type AnyEvent, isLoomError, LoomError } from "../protocol/index.ts";
import type { ErrorEvent, NodeEnterEvent, NodeExitEvent, ToolEndEvent } from "../protocol/events.generated.ts";
import type { AnswerText } from "./answer-text.ts";
import { assertNodeId, checkEvent } from "./check-event.ts";
import { type ExitOptions, describeError, type NodeHost, NodeRun, cutReason } from "./node-run.ts";
import type { ApprovalAnswer, ClosingOptions, OpenWork } from "./open-work.ts";
import type {
  ApprovalReply,
  ApprovalRequest,
  CancelOptions,
  ClientCallReply,
  ClientCallRequest,
  CloseCallsOptions,
  EmitOptions,
  FailOptions,
  FinishOptions,
  RunEnd,
  RunEndFields,
  RunFailure,
  RunHost,
  Settle,
} from "./run-contract.ts";
import type { RunOrigin } from "./run-origin.ts";
import { FATAL, type RunEnding, type UnitEvent, RunWriter } from "./run-writer.ts";
import { type PushResult, rejectHandled } from "./sequencer.ts";
import { assertCapable, UnansweredCalls } from "./unanswered-calls.ts";

/**
 * A run of a session: one request and everything an agent does for it. Start one with `Session.startRun`.
 *
 * Emit events with `emit`, or inside a node run with `enter` or `span`. End the run exactly once with `finish`, `fail`
 * or `cancel`; the first call wins, and everything still open is closed. Afterwards, writing fails with `run_ended`.
 *
 * ```ts
 * const run = await session.startRun({ message: "What is 6 × 7?" });
 * await run.span("answer", async (node) => {
 *   await node.write("42");
 * });
 * await run.finish();
 * ```
 */
export class Run {
  readonly sessionId: string;
  readonly runId: string;
  readonly requestId: string | undefined;
  readonly message: string | undefined;
  readonly agent: string | undefined;
  /** The request of the run, as recorded at its start. */
  readonly request: RunOrigin;
  readonly #host: RunHost;
  readonly #work: OpenWork;
  readonly #answer: AnswerText;
  readonly #writer: RunWriter;
  readonly #calls: UnansweredCalls;
  readonly #abort = new AbortController();
  readonly #ended = Promise.withResolvers<RunEnd>();
  #status: RunStatus = "live";
  #fatalError: LoomError | undefined;
  #lastNodeId: string | undefined;

  readonly #nodeHost: NodeHost = {
    emit: (event, options) => this.emit(event, options),
    exit: (nodeId, name, result, around) => this.#exitNode(nodeId, name, result, around),
    // An ended run writes nothing, so the ID of a report would not be visible.
    describe: (error) =>
      describeError(error, this.#status === "live" ? (thrown) => this.#host.report(thrown) : undefined),
  };

  /** `origin` is as recorded. `work` and `answer` have the state of earlier records, when a run is recovered. @internal */
  constructor(host: RunHost, origin: RunOrigin, work: OpenWork, answer: AnswerText) {
    this.#host = host;
    this.sessionId = host.sessionId;
    this.runId = origin.runId;
    this.requestId = origin.requestId;
    this.message = origin.message;
    this.agent = origin.agent;
    this.request = origin;
    this.#work = work;
    this.#answer = answer;
    const owner = {
      runId: origin.runId,
      assertLive: () => this.#assertLive(),
      onLost: ({ message, code }: LoomError) => void this.fail({ message, code, recoverable: true }),
      onWritten: (event: AnyEvent, nodeId: string | undefined, pushed: PushResult) =>
        this.#calls.onWritten(event, nodeId, pushed),
    };
    this.#writer = new RunWriter(host, owner, work, answer);
    this.#calls = new UnansweredCalls(host, this.#writer, work);
    this.#ended.promise.catch(() => undefined);
  }

  /** Writes the first events. @internal */
  start(events: readonly AnyEvent[], settle?: Settle): PushResult {
    const units = events.map((event) => ({ event: this.#writer.check(event) }));
    return this.#writer.write(units, { settle: settle ? [settle(this.#host.sequencer.nextId)] : [], force: true });
  }

  /** `live` until the run has ended. */
  get status(): RunStatus {
    return this.#status;
  }

  /**
   * Calls `listener` with each batch of entries of the session that becomes durable, in order. Returns a function that
   * removes the listener.
   */
  onCommit(listener: (entries: readonly LogEntry[]) => void): () => void {
    return this.#host.onCommit(listener);
  }

  /** Aborted when the run is cancelled, fails, or can no longer be written. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Resolves when the end of the run is durable. Rejects if the end could not be written. */
  get ended(): Promise<RunEnd> {
    return this.#ended.promise;
  }

  /** The open node runs, calls and approvals, and the totals. @internal */
  get work(): OpenWork {
    return this.#work;
  }

  /**
   * Emits an event. Resolves to its ID when it is durable.
   *
   * The promise may be ignored: a storage failure ends the run, and an invalid event is reported to the session's
   * `onError`.
   */
  emit(event: AnyEvent, options: EmitOptions = {}): Promise<number> {
    try {
      return this.post(event, options).durable;
    } catch (error) {
      this.reportRejection(error);
      return rejectHandled(error);
    }
  }

  /** Reports an event that was rejected while the run continues. @internal */
  reportRejection(error: unknown): void {
    if (this.#status === "live") this.#host.onRejected(error);
  }

  /** Emits an event and returns its ID at once. Throws where `emit` rejects. @internal */
  post(event: AnyEvent, { nodeId }: EmitOptions = {}): PushResult {
    this.#assertLive();
    return this.#writer.write([{ event: this.#writer.checkOwn(event), nodeId }]);
  }

  /**
   * Emits several events of one node run, or of none, in one append. If they cannot be stored, the run ends, unless
   * `isHandled` says that the caller handles the error.
   *
   * @internal
   */
  postUnit(
    events: readonly AnyEvent[],
    { nodeId, isHandled = false }: EmitOptions & { readonly isHandled?: boolean } = {},
  ): PushResult {
    this.#assertLive();
    const parts = events.map((event) => ({ event: this.#writer.checkOwn(event), nodeId }));
    return this.#writer.write(parts, { isHandled });
  }

  /** Resolves when at least half of the backlog is free. Producers of many events should await it. */
  ready(): Promise<void> {
    return this.#status === "live" ? this.#host.sequencer.drained() : rejectHandled(this.#endedError());
  }

  /** True if more than half of the backlog is used. Await `ready` before writing more. */
  get isBehind(): boolean {
    return this.#host.sequencer.isBehind;
  }

  /** Resolves when everything written so far is durable. */
  settled(): Promise<void> {
    return this.#host.sequencer.idle();
  }

  /** The session's clock, in milliseconds since 1970. */
  now(): number {
    return this.#host.now();
  }

  /**
   * Starts a node run, optionally inside the node run `parent`, and to carry out the tool call `call_id`. End it with
   * `done` or `fail`; a `using` declaration ends it in any case.
   */
  enter(name: string, parent?: string, call_id?: string): NodeRun {
    this.#assertLive();
    const checked = this.#writer.check({ type: "node_enter", id: name, ...dropUndefined({ parent, call_id }) });
    const event = this.#work.linkRepeat(checked as NodeEnterEvent);
    const { id } = event;
    const nodeId = `run-${id}-${this.#work.nodeRuns + 1}`;
    this.#writer.write([{ event, nodeId }]);
    this.#lastNodeId = nodeId;
    return new NodeRun(this.#nodeHost, nodeId, id);
  }

  #exitNode(nodeId: string, id: string, result: NodeExitEvent["result"], around: ExitOptions): PushResult {
    // The end of the run has closed the node run.
    if (!this.#work.isOpen(nodeId)) throw this.#endedError();
    const { before = [], after = [], areChecked = false } = around;
    const parts: UnitEvent[] = [];
    for (const event of before) parts.push({ event: areChecked ? event : this.#writer.checkOwn(event), nodeId });
    parts.push({ event: { type: "node_exit", id, result }, nodeId });
    for (const event of after)
      parts.push({ event: areChecked ? event : this.#writer.checkOwn(event), nodeId: undefined });
    return this.#writer.write(parts, { force: true });
  }

  /** Runs a function inside a node run, which is done when the function returns and failed when it throws. */
  async span<T>(name: string, work: (node: NodeRun) => T | Promise<T>): Promise<T> {
    const node = this.enter(name);
    try {
      const result = await work(node);
      void node.done();
      return result;
    } catch (error) {
      void node.fail(error);
      throw error;
    }
  }

  /**
   * Asks the user to approve a tool call. Resolves to the answer when it is durable. When called again for the same
   * call, for example after a restart, it returns the answer that was given meanwhile or keeps waiting. Asks no one if
   * the tool is allowed in the session, and rejects with `approval_unavailable` if the client of the run cannot answer.
   */
  requestApproval(request: ApprovalRequest, { nodeId }: EmitOptions = {}): Promise<ApprovalAnswer> {
    try {
      this.#assertLive();
      if (!this.#calls.isAllowed(request)) assertCapable(this.request, "approval", request);
      return this.#calls.requestApproval(request, nodeId);
    } catch (error) {
      return rejectHandled(error);
    }
  }

  /**
   * Answers an approval; the first answer wins. Throws `unknown_call`, `already_answered`, `approval_mismatch` or
   * `forbidden`.
   */
  answerApproval(reply: ApprovalReply, settle?: Settle): PushResult {
    this.#assertLive();
    return this.#calls.answerApproval(reply, settle);
  }

  /**
   * Lets the client carry out a tool call: writes `tool_start` and waits. Resolves to the end of the call when it is
   * durable. Rejects with `client_unavailable` if the client that requested the run cannot do it.
   */
  callClient(request: ClientCallRequest, { nodeId }: EmitOptions = {}): Promise<ToolEndEvent> {
    try {
      this.#assertLive();
      assertCapable(this.request, "tools", request);
      return this.#calls.callClient(request, nodeId);
    } catch (error) {
      return rejectHandled(error);
    }
  }

  /** The end of a call that an earlier process handed to the client; undefined for any other call. @internal */
  recallClient(callId: string, { nodeId }: EmitOptions = {}): Promise<ToolEndEvent> | undefined {
    return this.#calls.recallClient(callId, nodeId);
  }

  /**
   * Ends a call that the client carried out; the first result counts. Throws `unknown_call`, `already_answered` or
   * `forbidden`.
   */
  answerCall(reply: ClientCallReply, settle?: Settle): PushResult {
    this.#assertLive();
    return this.#calls.answerCall(reply, settle);
  }

  /** Ends approvals and calls of the client whose time is over. @internal */
  expireCalls(): void {
    if (this.#status === "live") this.#calls.expire();
  }

  /** Resolves when no approval of this run is open, and no call waits for the client. */
  approvalsSettled(): Promise<void> {
    return this.#calls.allAnswered();
  }

  /** Completes the run. `run_end` and the reply are one append. Open calls and node runs are closed as failed. */
  finish(options: FinishOptions = {}): Promise<RunEnd> {
    return this.#reportIfRejected(this.#finish(options));
  }

  async #finish({ reply, nodeId, summary }: FinishOptions): Promise<RunEnd> {
    if (this.#status === "completed") return this.#ended.promise;
    this.#assertLive();
    assertNodeId(nodeId);
    if (reply != null) checkEvent({ type: "reply", reply });
    try {
      this.#writer.endTexts();
      const text = reply ?? this.#answer.toString();
      const producer = nodeId?.toWellFormed() ?? this.#answer.nodeId ?? this.#lastNodeId;
      return await this.#end({
        end: dropUndefined({ status: "completed", summary }),
        reply: { text, nodeId: producer },
        reason: "the run ended",
        code: "interrupted",
      });
    } catch (error) {
      // A run whose reply cannot be stored ends as failed.
      if (this.#status === "live" && isLoomError(error, ...FATAL))
        await this.fail({ message: error.message, code: error.code });
      throw error;
    }
  }

  /**
   * Ends the run as failed: writes the error, closes open work, and writes `run_end` and the answer so far as the reply.
   * Has no effect if the run has ended.
   */
  fail(failure: RunFailure, options: FailOptions = {}): Promise<RunEnd> {
    return this.#reportIfRejected(this.#fail(failure, options));
  }

  async #fail(failure: RunFailure, options: FailOptions): Promise<RunEnd> {
    if (this.#status !== "live") return this.#ended.promise;
    const error = this.#writer.checkFailure(failure, (refusal) => this.reportRejection(refusal));
    const { message, code } = error;
    if (options.recorded !== true) this.#writer.writeError(error);
    return this.#end({
      end: dropUndefined({ status: "error", reason: cutReason(message), code, summary: options.summary }),
      reason: code === "interrupted" ? "interrupted" : cutReason(message),
      code: "interrupted",
    });
  }

  /** Ends the run as cancelled. The text sent so far stays and is the reply. Has no effect if the run has ended. */
  cancel(reason = "cancelled", options: CancelOptions = {}): Promise<RunEnd> {
    if (this.#status !== "live") return this.#ended.promise;
    if (typeof reason !== "string")
      return this.#reportIfRejected(
        rejectHandled(new LoomError("invalid_event", "The reason of a cancel must be a string", { path: "reason" })),
      );
    const { summary, settle } = options;
    const end = dropUndefined({ status: "cancelled", reason: cutReason(reason), code: "cancelled", summary });
    return this.#reportIfRejected(this.#end({ end, reason: "cancelled", code: "cancelled", settle }));
  }

  /** Leaves out the totals that the run counted from the summary of its end. @internal */
  omitTotals(): void {
    this.#writer.hasTotals = false;
  }

  /**
   * Closes the open work of a dead process and announces the next attempt; see `OpenWork.listClosings`. @internal
   */
  close(options: Omit<ClosingOptions, "now">, announcement?: ErrorEvent): void {
    this.#writer.close(options);
    if (announcement !== undefined) this.#writer.writeClosing(announcement, undefined);
  }

  /** Ends open calls that will not be executed, as errors. @internal */
  closeCalls(
    callIds: Iterable<string>,
    { reason = "not executed", code = "interrupted", nodeId }: CloseCallsOptions = {},
  ): void {
    this.#assertLive();
    const ids = new Set(callIds);
    const keep = ({ callId }: { readonly callId: string | undefined }) => callId === undefined || !ids.has(callId);
    this.#writer.close({ reason, code, keep, only: "calls", ...dropUndefined({ nodeId }) });
  }

  /** Stops the run without writing: its session was closed or fenced, or the log failed. @internal */
  abort(error: LoomError): void {
    if (this.#status !== "live") return;
    this.#status = "error";
    this.#fatalError = error;
    this.#calls.close(error);
    this.#ended.reject(error);
    this.#abort.abort(error);
  }

  #assertLive(): void {
    if (this.#status !== "live") throw this.#endedError();
  }

  #endedError(): LoomError {
    return this.#fatalError ?? new LoomError("run_ended", `Run ${this.runId} has ended: ${this.#status}`);
  }

  /** A rejected end leaves the run live, so it must be reported. */
  #reportIfRejected(ending: Promise<RunEnd>): Promise<RunEnd> {
    ending.catch((error: unknown) => this.reportRejection(error));
    return ending;
  }

  async #end({ end, reply, reason, code, settle }: RunEnding): Promise<RunEnd> {
    this.#writer.check({ ...end, type: "run_end" });
    this.#writer.endTexts();
    // Closing an interrupted node run drops its text.
    const said = reply ?? { text: this.#answer.partialText, nodeId: this.#answer.nodeId ?? this.#lastNodeId };
    this.close({ reason, code });
    let pushed: PushResult;
    try {
      pushed = this.#writer.writeEnd(end, said, settle);
    } catch (error) {
      const { summary, reason: why, ...bare } = end;
      const isCut = summary === undefined && why === undefined && said.text === "";
      // `#finish` handles the error of a completed run. Any other run must end, if need be without these texts.
      if (end.status === "completed" || isCut || !isLoomError(error, "event_too_large")) throw error;
      return this.#end({ end: bare, reply: { ...said, text: "" }, reason, code, settle });
    }
    this.#settle(end, pushed.lastId, pushed.durable);
    return this.#ended.promise;
  }

  #settle({ status, code, reason }: RunEndFields, lastEventId: number, durable: Promise<number>): void {
    this.#status = status;
    const cause = new LoomError(status === "cancelled" ? "cancelled" : "run_ended", reason ?? `Run ${status}`);
    this.#calls.close(cause);
    this.#host.onEnd(this);
    durable.then(
      () => this.#ended.resolve({ status, ...dropUndefined({ code, reason }), lastEventId }),
      (error: unknown) => {
        this.#status = "error";
        if (isLoomError(error)) this.#fatalError = error;
        this.#ended.reject(error);
      },
    );
    if (status !== "completed") this.#abort.abort(cause);
  }
}
