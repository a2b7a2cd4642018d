/**
 * A live run: the handle agents write through. It stamps node ids, counts frames, and ends the run exactly once, with
 * all that is open closed before. It knows its session only by what it needs of it.
 *
 * Invariant: whatever is called in whatever order, the records it writes are a valid run, and `run_end` counts them.
 */
import { isDeepStrictEqual } from "node:util";
import { given } from "../dialects/given.ts";
import type { RunStatus } from "../log/log.ts";
import {
  type AnyEvent,
  type ErrorCode,
  isLoomError,
  LoomError,
  type NodeExitEvent,
  type ToolApprovalResultEvent,
  type ToolCallEvent,
} from "../protocol/index.ts";
import type { AnswerText } from "./answer-text.ts";
import { Approvals } from "./approvals.ts";
import { assertNodeId, checkEvent, copyJson } from "./check-event.ts";
import { NodeRun, shorten } from "./node-run.ts";
import { type ApprovalAnswer, type CloseOptions, cutTexts, isKept, type OpenWork } from "./open-work.ts";
import type {
  ApprovalReply,
  ApprovalRequest,
  CancelOptions,
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
import { type Draft, type Pushed, type PushOptions, refuse } from "./sequencer.ts";

interface Ending extends Pick<CloseOptions, "reason" | "code"> {
  readonly end: RunEndFields;
  readonly reply?: { readonly text: string; readonly nodeId: string | undefined };
  readonly settle?: Settle | undefined;
}

const APPROVAL_MS = 60 * 60 * 1000;

/** Only the engine writes these: ids, spans and ends are stamped here and nowhere else. */
const STAMPED: ReadonlySet<string> = new Set(["run_start", "node_enter", "node_exit", "run_end", "reply"]);

/** An event that is lost for one of these makes the log unfaithful: the run must not go on as if it were there. */
const FATAL: readonly ErrorCode[] = ["backlog_full", "event_too_large", "batch_too_large"];

export class Run {
  readonly runId: string;
  readonly requestId: string | undefined;
  readonly message: string | undefined;
  readonly agent: string | undefined;
  readonly #host: RunHost;
  readonly #work: OpenWork;
  readonly #answer: AnswerText;
  readonly #approvals: Approvals;
  readonly #abort = new AbortController();
  readonly #ended = Promise.withResolvers<RunEnd>();
  #status: RunStatus = "live";
  #death: LoomError | undefined;
  #lastNodeId: string | undefined;
  /** Calls whose answer is on its way into the log. */
  readonly #answering = new Set<string>();

  /** `work` and `answer` hold what was written before, where the run goes on after its process died. */
  constructor(host: RunHost, origin: RunOrigin, work: OpenWork, answer: AnswerText) {
    this.#host = host;
    this.runId = origin.runId;
    this.requestId = origin.requestId;
    this.message = origin.message;
    this.agent = origin.agent;
    this.#work = work;
    this.#answer = answer;
    this.#approvals = new Approvals(host.now, () => this.expire());
    this.#approvals.arm(work.waiting);
    this.#ended.promise.catch(() => undefined);
  }

  /** Writes the first record of the run. */
  start(origin: RunOrigin, settle?: Settle): Pushed {
    const { runId, message, agent, source, requestId } = origin;
    const event = this.#check({
      type: "run_start",
      ...given({ run_id: runId, message, agent, contiguous: true, source, request_id: requestId }),
    });
    return this.#write([event], undefined, {
      settle: settle === undefined ? [] : [settle(this.#host.sequencer.nextId)],
      force: true,
    });
  }

  get status(): RunStatus {
    return this.#status;
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
    const checked = this.#check(event);
    if (STAMPED.has(checked.type))
      throw new LoomError("invalid_event", `\`${checked.type}\` is written by the engine alone`, { path: "type" });
    return this.#write([checked], nodeId);
  }

  /** A call and its start, in one append. */
  postToolStart(call: Omit<ToolCallEvent, "type"> & { readonly call_id: string }, options: EmitOptions = {}): Pushed {
    this.#assertLive();
    const { call_id, name } = call;
    const event = this.#check({ ...call, type: "tool_call" });
    return this.#write([event, this.#check({ type: "tool_start", call_id, name })], options.nodeId);
  }

  /** Resolves when half of the backlog is free; for producers that pace themselves. */
  ready(): Promise<void> {
    return this.#status === "live" ? this.#host.sequencer.drained() : refuse(this.#endedError());
  }

  /** Begins a node run. Leave it with `done` or `fail`; with `using` it cannot be forgotten. */
  enter(name: string): NodeRun {
    this.#assertLive();
    const event = this.#check({ type: "node_enter", id: name });
    const nodeId = `run-${name}-${this.#work.nodeRuns + 1}`;
    this.#write([event], nodeId);
    this.#lastNodeId = nodeId;
    const leave = (id: string, node: string, result: NodeExitEvent["result"]): Promise<number> => {
      // The end of the run has closed it.
      if (!this.#work.isOpen(id)) return refuse(this.#endedError());
      try {
        return this.#write([{ type: "node_exit", id: node, result }], id, { force: true }).durable;
      } catch (error) {
        return refuse(error);
      }
    };
    return new NodeRun({ emit: (event, options) => this.emit(event, options), leave }, nodeId, name);
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
    const { callId, name, expiresInMs = APPROVAL_MS } = request;
    try {
      this.#assertLive();
      const known = this.#work.findCall(callId);
      if (known?.asked === undefined) {
        const expires_at = this.#host.now() + expiresInMs;
        const { arguments: asked } = request;
        this.post({ type: "tool_approval", call_id: callId, name, arguments: asked, expires_at }, { nodeId });
      } else {
        if (known.name !== name || !isDeepStrictEqual(known.asked, copyJson(request.arguments)))
          throw new LoomError("approval_mismatch", `call ${callId} was asked about with another tool or arguments`);
        if (known.answer !== undefined && !this.#answering.has(callId)) return Promise.resolve(known.answer);
      }
      return this.#approvals.wait(callId);
    } catch (error) {
      return refuse(error);
    }
  }

  /** Answers a question; the first answer wins. Throws `already_answered`, `unknown_call` or `approval_mismatch`. */
  answerApproval(reply: ApprovalReply, settle?: Settle): Pushed {
    const { callId, name, decision, reason, actor } = reply;
    this.#assertLive();
    const call = this.#work.findCall(callId);
    if (call?.asked === undefined && !this.#work.wasAsked(callId))
      throw new LoomError("unknown_call", `nobody was asked about call ${callId}`, { call_id: callId });
    if (call?.state !== "waiting")
      throw new LoomError("already_answered", `call ${callId} was answered before`, { call_id: callId });
    if (name !== undefined && name !== call.name)
      throw new LoomError("approval_mismatch", `call ${callId} is of ${call.name}, not of ${name}`);
    // It runs out by the clock, not by when somebody looks at it.
    if (call.expiresAt !== undefined && call.expiresAt <= this.#host.now()) {
      this.expire();
      throw new LoomError("already_answered", `the question about call ${callId} has run out`, { call_id: callId });
    }
    const edited = decision === "approved" ? reply.arguments : undefined;
    const event = this.#check({
      type: "tool_approval_result",
      ...given({ call_id: callId, name: call.name, decision, reason, arguments: edited, actor }),
    });
    return this.#write([event], this.#insideOf(call.nodeId), {
      force: true,
      settle: settle === undefined ? [] : [settle(this.#host.sequencer.nextId)],
    });
  }

  /** Resolves when no question of this run is open any more. */
  async answered(): Promise<void> {
    const ids = this.#work.waiting.flatMap(({ callId }) => (callId === undefined ? [] : [callId]));
    await Promise.allSettled(ids.map((callId) => this.#approvals.wait(callId)));
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
    const { message, code } = failure;
    const error = this.#check({ ...failure, type: "error" });
    if (options.recorded !== true) this.#record(error, failure);
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
    for (const { event, nodeId } of this.#work.listClosings({ ...options, now: this.#host.now() }))
      this.#writeClosing(event, nodeId);
  }

  /**
   * A run must be able to end. Names were bounded on their way in, but a record of somebody else's may hold longer ones:
   * then texts are cut, and what cannot be written even so is left open.
   */
  #writeClosing(event: AnyEvent, nodeId: string | undefined): void {
    for (const fitting of [event, cutTexts(event)]) {
      try {
        this.#write([fitting], nodeId, { force: true }, false);
        return;
      } catch (error) {
        if (!isLoomError(error, "event_too_large")) throw error;
      }
    }
  }

  /** The run may write no more: its session is fenced or closed, or the log failed. */
  die(error: LoomError): void {
    if (this.#status !== "live") return;
    this.#status = "error";
    this.#death = error;
    this.#approvals.close(error);
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

  #check(event: AnyEvent): AnyEvent {
    return checkEvent(event, this.#host.maxNameLength);
  }

  #insideOf(nodeId: string | undefined): string | undefined {
    return nodeId !== undefined && this.#work.isOpen(nodeId) ? nodeId : undefined;
  }

  /** Writes a unit. Only a call and its start come together, and the start is right if the call is. */
  #write(events: readonly AnyEvent[], nodeId: string | undefined, options: PushOptions = {}, check = true): Pushed {
    this.#assertLive();
    assertNodeId(nodeId, Number.POSITIVE_INFINITY);
    const own = events.map((event) => (isKept(event) ? copyJson(event) : event));
    if (check && own[0] !== undefined) this.#work.assertNext(own[0], nodeId);
    let pushed: Pushed;
    try {
      pushed = this.#host.push(
        own.map((event) => ({ runId: this.runId, nodeId, event })),
        options,
      );
    } catch (error) {
      // What is forced has a caller who is told, and can do something about it.
      if (options.force !== true && isLoomError(error, ...FATAL))
        void this.fail({ message: error.message, code: error.code, recoverable: true });
      throw error;
    }
    const firstId = pushed.lastId - own.length + 1;
    for (const [index, event] of own.entries()) this.#add(event, nodeId, firstId + index, pushed);
    return pushed;
  }

  #add(event: AnyEvent, nodeId: string | undefined, eventId: number, { ts, durable }: Pushed): void {
    const envelope = { event_id: eventId, ts, ...(nodeId === undefined ? {} : { node_id: nodeId }) };
    this.#work.add({ envelope, event });
    this.#answer.add({ envelope, event });
    if (event.type === "tool_approval") this.#approvals.arm(this.#work.waiting);
    if (event.type !== "tool_approval_result") return;
    const { call_id: callId = "" } = event as ToolApprovalResultEvent;
    const answer = this.#work.findCall(callId)?.answer;
    this.#approvals.arm(this.#work.waiting);
    // First durable, then seen.
    this.#answering.add(callId);
    durable.then(
      () => {
        this.#answering.delete(callId);
        if (answer !== undefined) this.#approvals.answer(callId, answer);
      },
      () => undefined,
    );
  }

  /** Answers the questions that have run out. */
  expire(): void {
    if (this.#status !== "live") return;
    const now = this.#host.now();
    try {
      for (const { callId, name, nodeId, expiresAt } of this.#work.waiting) {
        if (callId === undefined || expiresAt === undefined || expiresAt > now) continue;
        const event = {
          type: "tool_approval_result",
          call_id: callId,
          ...(name === undefined ? {} : { name }),
        } as const;
        this.#write([{ ...event, decision: "expired" }], this.#insideOf(nodeId), { force: true });
      }
      this.#approvals.arm(this.#work.waiting);
    } catch {
      // The log failed; the session ends the run.
    }
  }

  #record(error: AnyEvent, { message, code }: RunFailure): void {
    try {
      this.#write([error], undefined, { force: true });
    } catch (cause) {
      if (!isLoomError(cause, "event_too_large")) throw cause;
      const short = { type: "error", message: shorten(message), ...(code === undefined ? {} : { code }) } as const;
      this.#writeClosing(short, undefined);
    }
  }

  async #end({ end, reply, reason, code, settle }: Ending): Promise<RunEnd> {
    this.#check({ ...end, type: "run_end" });
    this.close({ reason, code });
    const { sequencer } = this.#host;
    const { frames, firstId = sequencer.nextId, startedAt, totals } = this.#work;
    const ts = sequencer.tick();
    const records = reply === undefined ? 1 : 2;
    const runEnd = this.#check({
      ...end,
      type: "run_end",
      summary: { ...totals, duration_ms: Math.max(0, ts - (startedAt ?? ts)), ...end.summary },
      first_event_id: firstId,
      last_event_id: sequencer.nextId + records - 1,
      frame_count: frames + records,
    });
    const drafts: Draft[] = [{ runId: this.runId, event: runEnd }];
    if (reply !== undefined)
      drafts.push({ runId: this.runId, nodeId: reply.nodeId, event: { type: "reply", reply: reply.text } });
    const settled = settle === undefined ? [] : [settle(sequencer.nextId)];
    let pushed: Pushed;
    try {
      pushed = this.#host.push(drafts, { force: true, settle: settled, ts });
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
    this.#approvals.close(cause);
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
