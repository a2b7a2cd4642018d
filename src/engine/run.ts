/**
 * A live run: the handle agents write through. It stamps node ids, counts frames, and ends the run exactly once, with
 * all that is open closed before. It knows its session only by what it needs of it.
 *
 * Invariant: whatever is called in whatever order, the records it writes are a valid run, and `run_end` counts them.
 */
import { given } from "../dialects/given.ts";
import type { LogEntry, RunStatus } from "../log/log.ts";
import {
  type AnyEvent,
  type ErrorEvent,
  isLoomError,
  LoomError,
  type NodeExitEvent,
  type ToolCallEvent,
  type ToolRules,
} from "../protocol/index.ts";
import type { AnswerText } from "./answer-text.ts";
import { assertNodeId, checkEvent } from "./check-event.ts";
import { type Around, describeError, type NodeHost, NodeRun, shorten } from "./node-run.ts";
import type { ApprovalAnswer, CloseOptions, OpenWork } from "./open-work.ts";
import { copyJson } from "./plain-json.ts";
import { Questions } from "./questions.ts";
import type {
  ApprovalReply,
  ApprovalRequest,
  CancelOptions,
  CloseCallsOptions,
  EmitOptions,
  FailOptions,
  FinishOptions,
  RunEnd,
  RunEndFields,
  RunFailure,
  RunHost,
  RunOrigin,
  Settle,
} from "./run-contract.ts";
import { FATAL, type Part, type Reply, RunWriter } from "./run-writer.ts";
import { type Pushed, refuse } from "./sequencer.ts";

interface Ending extends Pick<CloseOptions, "reason" | "code"> {
  readonly end: RunEndFields;
  readonly reply?: Reply;
  readonly settle?: Settle | undefined;
}

/** Only the engine writes these: ids, spans and ends are stamped here and nowhere else. */
const STAMPED: ReadonlySet<string> = new Set(["run_start", "node_enter", "node_exit", "run_end", "reply"]);

export class Run {
  readonly sessionId: string;
  readonly runId: string;
  readonly requestId: string | undefined;
  readonly message: string | undefined;
  readonly agent: string | undefined;
  /** Files that came with the message. */
  readonly attachments: NonNullable<RunOrigin["attachments"]>;
  /** Who asked for it. */
  readonly actor: string | undefined;
  /** What it may do with tools: as it was when it began. */
  readonly toolRules: ToolRules | undefined;
  readonly #host: RunHost;
  readonly #work: OpenWork;
  readonly #answer: AnswerText;
  readonly #writer: RunWriter;
  readonly #questions: Questions;
  readonly #abort = new AbortController();
  readonly #ended = Promise.withResolvers<RunEnd>();
  #status: RunStatus = "live";
  #death: LoomError | undefined;
  #lastNodeId: string | undefined;

  /** Node runs write through this. */
  readonly #nodeHost: NodeHost = {
    emit: (event, options) => this.emit(event, options),
    leave: (nodeId, name, result, around) => this.#leave(nodeId, name, result, around),
    // Of a run that is over nothing is written: nobody would be shown the id.
    describe: (error) =>
      describeError(error, this.#status === "live" ? (thrown) => this.#host.report(thrown) : undefined),
  };

  /** `work` and `answer` hold what was written before, where the run goes on after its process died. */
  constructor(host: RunHost, origin: RunOrigin, work: OpenWork, answer: AnswerText) {
    this.#host = host;
    this.sessionId = host.sessionId;
    this.runId = origin.runId;
    this.requestId = origin.requestId;
    this.message = origin.message;
    this.agent = origin.agent;
    this.attachments = origin.attachments ?? [];
    this.actor = origin.actor;
    this.toolRules = origin.toolRules === undefined ? undefined : copyJson(origin.toolRules);
    this.#work = work;
    this.#answer = answer;
    const owner = {
      runId: origin.runId,
      assertLive: () => this.#assertLive(),
      onLost: ({ message, code }: LoomError) => void this.fail({ message, code, recoverable: true }),
      onWritten: (event: AnyEvent, pushed: Pushed) => this.#questions.onWritten(event, pushed),
    };
    this.#writer = new RunWriter(host, owner, work, answer);
    this.#questions = new Questions(host, this.#writer, work);
    this.#ended.promise.catch(() => undefined);
  }

  /** Writes the first record of the run. */
  start(origin: RunOrigin, settle?: Settle): Pushed {
    const { runId, message, agent, source, requestId, context, attachments, actor } = origin;
    const event = this.#writer.check({
      type: "run_start",
      ...given({
        run_id: runId,
        message,
        agent,
        contiguous: true,
        source,
        request_id: requestId,
        context,
        attachments,
        actor,
        tool_rules: this.toolRules,
      }),
    });
    return this.#writer.write([{ event }], {
      settle: settle === undefined ? [] : [settle(this.#host.sequencer.nextId)],
      force: true,
    });
  }

  get status(): RunStatus {
    return this.#status;
  }

  /** Calls `listener` with what has become durable in its session, in order; returns how to stop it. */
  onCommit(listener: (entries: readonly LogEntry[]) => void): () => void {
    return this.#host.onCommit(listener);
  }

  /** Aborted when the run is cancelled, fails, or may write no more. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Resolves when the end is durable; rejects when it could not be written. */
  get ended(): Promise<RunEnd> {
    return this.#ended.promise;
  }

  /** What is open, for those who recover, approve or close. */
  get work(): OpenWork {
    return this.#work;
  }

  /**
   * Resolves to the event's id once it is durable. Nobody has to look at the promise: a failure ends the run, and an
   * event that is refused as wrong is told to the session's `onError`.
   */
  emit(event: AnyEvent, options: EmitOptions = {}): Promise<number> {
    try {
      return this.post(event, options).durable;
    } catch (error) {
      this.noteRefusal(error);
      return refuse(error);
    }
  }

  /** Sees to it that somebody is told of an event the run goes on without. */
  noteRefusal(error: unknown): void {
    if (this.#status === "live") this.#host.onRefused(error);
  }

  /** The same, with the id at once; throws where `emit` rejects. */
  post(event: AnyEvent, { nodeId }: EmitOptions = {}): Pushed {
    this.#assertLive();
    return this.#writer.write([{ event: this.#checkOwn(event), nodeId }]);
  }

  /**
   * Several events of one node run, or of none, in one append. A run whose records cannot be stored ends, unless whoever
   * writes them `isTold` so and goes on without.
   */
  postUnit(
    events: readonly AnyEvent[],
    { nodeId, isTold = false }: EmitOptions & { readonly isTold?: boolean } = {},
  ): Pushed {
    this.#assertLive();
    const parts = events.map((event) => ({ event: this.#checkOwn(event), nodeId }));
    return this.#writer.write(parts, { isAwaited: isTold });
  }

  /** A call and its start, in one append. */
  postToolStart(
    call: Omit<ToolCallEvent, "type"> & { readonly call_id: string },
    { nodeId }: EmitOptions = {},
  ): Pushed {
    this.#assertLive();
    const { call_id, name } = call;
    const event = this.#writer.check({ ...call, type: "tool_call" });
    const start = this.#writer.check({ type: "tool_start", call_id, name });
    return this.#writer.write([
      { event, nodeId },
      { event: start, nodeId },
    ]);
  }

  /** Resolves when half of the backlog is free; for producers that pace themselves. */
  ready(): Promise<void> {
    return this.#status === "live" ? this.#host.sequencer.drained() : refuse(this.#endedError());
  }

  /** Whoever writes more should wait for `ready` first. */
  get isBehind(): boolean {
    return this.#host.sequencer.isBehind;
  }

  /** Resolves when all that was written so far is durable. */
  settled(): Promise<void> {
    return this.#host.sequencer.idle();
  }

  /** The session's clock. */
  now(): number {
    return this.#host.now();
  }

  /** Begins a node run, inside of another or not. Leave it with `done` or `fail`; with `using` it cannot be forgotten. */
  enter(name: string, parent?: string): NodeRun {
    this.#assertLive();
    const event = this.#writer.check({ type: "node_enter", id: name, ...given({ parent }) });
    const nodeId = `run-${name}-${this.#work.nodeRuns + 1}`;
    this.#writer.write([{ event, nodeId }]);
    this.#lastNodeId = nodeId;
    return new NodeRun(this.#nodeHost, nodeId, name);
  }

  #leave(nodeId: string, id: string, result: NodeExitEvent["result"], around: Around): Pushed {
    // The end of the run has closed it.
    if (!this.#work.isOpen(nodeId)) throw this.#endedError();
    const { before = [], after = [], areChecked = false } = around;
    const parts: Part[] = [];
    for (const event of before) parts.push({ event: areChecked ? event : this.#checkOwn(event), nodeId });
    parts.push({ event: { type: "node_exit", id, result }, nodeId });
    for (const event of after) parts.push({ event: areChecked ? event : this.#checkOwn(event), nodeId: undefined });
    return this.#writer.write(parts, { force: true });
  }

  /** A node run around a function: done when it returns, failed when it throws. */
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
   * Asks the user, and resolves to the answer once it is durable. Asked again after a restart about the same call, it
   * gives the answer that came meanwhile, or waits on.
   */
  requestApproval(request: ApprovalRequest, { nodeId }: EmitOptions = {}): Promise<ApprovalAnswer> {
    try {
      this.#assertLive();
      return this.#questions.ask(request, nodeId);
    } catch (error) {
      return refuse(error);
    }
  }

  /** Answers a question; the first answer wins. Throws `already_answered`, `unknown_call` or `approval_mismatch`. */
  answerApproval(reply: ApprovalReply, settle?: Settle): Pushed {
    this.#assertLive();
    return this.#questions.answer(reply, settle);
  }

  /** Answers the questions that have run out. */
  expire(): void {
    if (this.#status === "live") this.#questions.expire();
  }

  /** Resolves when no question of this run is open any more. */
  answered(): Promise<void> {
    return this.#questions.answered();
  }

  /** Completes the run: `run_end` and the reply are one append. What is still open was forgotten, and closed as such. */
  finish(options: FinishOptions = {}): Promise<RunEnd> {
    return this.#told(this.#finish(options));
  }

  async #finish({ reply, nodeId, summary }: FinishOptions): Promise<RunEnd> {
    if (this.#status === "completed") return this.#ended.promise;
    this.#assertLive();
    assertNodeId(nodeId, this.#host.maxNameLength);
    if (reply != null) checkEvent({ type: "reply", reply });
    try {
      const text = reply ?? this.#answer.toString();
      const producer = nodeId ?? this.#answer.nodeId ?? this.#lastNodeId;
      return await this.#end({
        end: { status: "completed", ...(summary === undefined ? {} : { summary }) },
        reply: { text, nodeId: producer },
        reason: "left open",
        code: "interrupted",
      });
    } catch (error) {
      // A reply that cannot be stored is the end all the same, and not a good one.
      if (this.#status === "live" && isLoomError(error, ...FATAL))
        await this.fail({ message: error.message, code: error.code });
      throw error;
    }
  }

  /** Ends the run as an error: its record, what closes all that is open, and `run_end`. */
  fail(failure: RunFailure, options: FailOptions = {}): Promise<RunEnd> {
    return this.#told(this.#fail(failure, options));
  }

  async #fail(failure: RunFailure, options: FailOptions): Promise<RunEnd> {
    if (this.#status !== "live") return this.#ended.promise;
    const error = this.#writer.checkFailure(failure, (refusal) => this.noteRefusal(refusal));
    const { message, code } = error;
    if (options.recorded !== true) this.#record(error);
    return this.#end({
      end: {
        status: "error",
        reason: shorten(message),
        ...(code === undefined ? {} : { code }),
        ...(options.summary === undefined ? {} : { summary: options.summary }),
      },
      reason: code === "interrupted" ? "interrupted" : shorten(message),
      code: "interrupted",
    });
  }

  /** Ends the run as cancelled; what it has said so far stays. Does nothing when the run is over. */
  cancel(reason = "cancelled", options: CancelOptions = {}): Promise<RunEnd> {
    if (this.#status !== "live") return this.#ended.promise;
    if (typeof reason !== "string")
      return this.#told(
        refuse(new LoomError("invalid_event", "the reason of a cancel must be a text", { path: "reason" })),
      );
    return this.#told(
      this.#end({
        end: {
          status: "cancelled",
          reason: shorten(reason),
          code: "cancelled",
          ...(options.summary === undefined ? {} : { summary: options.summary }),
        },
        reason: "cancelled",
        code: "cancelled",
        settle: options.settle,
      }),
    );
  }

  /** Closes what the dead process left open, so that somebody else can go on; see `OpenWork.listClosings`. */
  close(options: Omit<CloseOptions, "now">): void {
    this.#writer.close(options);
  }

  /** Ends calls that are open and that nobody will carry out: as an error, before or while they ran. */
  closeCalls(callIds: Iterable<string>, { reason = "not carried out", code = "interrupted" }: CloseCallsOptions = {}) {
    this.#assertLive();
    const ids = new Set(callIds);
    this.#writer.close({ reason, code, keep: ({ callId }) => callId === undefined || !ids.has(callId), only: "calls" });
  }

  /** The run may write no more: its session is fenced or closed, or the log failed. */
  die(error: LoomError): void {
    if (this.#status !== "live") return;
    this.#status = "error";
    this.#death = error;
    this.#questions.close(error);
    this.#ended.reject(error);
    this.#abort.abort(error);
  }

  #assertLive(): void {
    if (this.#status !== "live") throw this.#endedError();
  }

  #endedError(): LoomError {
    return this.#death ?? new LoomError("run_ended", `run ${this.runId} is over: ${this.#status}`);
  }

  /** An end that was refused leaves the run live: somebody must hear of it. */
  #told(ending: Promise<RunEnd>): Promise<RunEnd> {
    ending.catch((error: unknown) => this.noteRefusal(error));
    return ending;
  }

  #checkOwn(event: AnyEvent): AnyEvent {
    const checked = this.#writer.check(event);
    if (!STAMPED.has(checked.type)) return checked;
    throw new LoomError("invalid_event", `\`${checked.type}\` is written by the engine alone`, { path: "type" });
  }

  #record(error: ErrorEvent): void {
    try {
      this.#writer.write([{ event: error }], { force: true });
    } catch (cause) {
      if (!isLoomError(cause, "event_too_large")) throw cause;
      const { message, code } = error;
      const short = { type: "error", message: shorten(message), ...given({ code }) } as const;
      this.#writer.writeClosing(short, undefined);
    }
  }

  async #end({ end, reply, reason, code, settle }: Ending): Promise<RunEnd> {
    this.#writer.check({ ...end, type: "run_end" });
    this.close({ reason, code });
    let pushed: Pushed;
    try {
      pushed = this.#writer.writeEnd(end, reply, settle);
    } catch (error) {
      const { summary, reason: why, ...bare } = end;
      const isCut = summary === undefined && why === undefined;
      // A completed run whose end cannot be stored has a caller who makes it an error; others must end all the same.
      if (reply !== undefined || isCut || !isLoomError(error, "event_too_large")) throw error;
      return this.#end({ end: bare, reason, code, settle });
    }
    this.#settle(end, pushed.lastId, pushed.durable);
    return this.#ended.promise;
  }

  #settle({ status, code, reason }: RunEndFields, lastEventId: number, durable: Promise<number>): void {
    this.#status = status;
    const cause = new LoomError(status === "cancelled" ? "cancelled" : "run_ended", reason ?? `run ${status}`);
    this.#questions.close(cause);
    this.#host.onEnd(this);
    durable.then(
      () =>
        this.#ended.resolve({
          status,
          ...(code === undefined ? {} : { code }),
          ...(reason === undefined ? {} : { reason }),
          lastEventId,
        }),
      (error: unknown) => {
        this.#status = "error";
        if (isLoomError(error)) this.#death = error;
        this.#ended.reject(error);
      },
    );
    if (status !== "completed") this.#abort.abort(cause);
  }
}
