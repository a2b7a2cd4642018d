/**
 * One attempt of one task: the context that its node works with, and everything that can stop it (abort, timeout,
 * abandonment). It does not know the graph.
 *
 * Invariant: after an abort and its grace period, the promise of `perform` settles, even if the node does not end.
 */
import type { NodeRun } from "../engine/index.ts";
import { dropUndefined } from "../protocol/drop-undefined.ts";
import { type AnyEvent, isLoomError, type Json, type JsonObject, LoomError } from "../protocol/index.ts";
import type { ToolEndEvent } from "../protocol/events.generated.ts";
import type { InterruptAnswer, NodeContext } from "./graph.ts";
import { formatStepPath } from "./graph-events.ts";
import type { GraphHost } from "./graph-host.ts";
import { type InterruptCall, type PartOwner, PartRun, type PartResults, TaskParts } from "./parts.ts";

/** What a task runs with: its position in the graph, its input and earlier results. */
export interface TaskSpec {
  readonly ns: string;
  readonly step: number;
  readonly task: number;
  readonly input: Json | undefined;
  readonly endedCalls: ReadonlyMap<string, ToolEndEvent>;
  /** Results of all running tasks. */
  readonly parts: PartResults;
}

/** Something inside the task that is stopped with it. */
export interface Stoppable {
  abort(reason: unknown, graceMs: number): void;
}

export class TaskRun implements NodeContext, PartOwner {
  readonly span: NodeRun;
  readonly spec: TaskSpec;
  readonly host: GraphHost;
  /** The task whose subgraph this task belongs to. */
  readonly #parent: TaskRun | undefined;
  #controller: AbortController | undefined;
  #aborted: { readonly reason: unknown } | undefined;
  #parts: TaskParts | undefined;
  #context: PartRun | undefined;
  /** Rejects the promises that the task awaits, on abort. */
  #waiting: Set<(reason: unknown) => void> | undefined;
  /** Rejects the promise of the node, to abandon it. */
  #abandon: ((reason: unknown) => void) | undefined;
  #grace: NodeJS.Timeout | undefined;
  #timeout: NodeJS.Timeout | undefined;
  #timeoutStarted = 0;
  #timeLeft = 0;
  #graceMs = 0;
  /** Open interrupts, here and in the subgraph. */
  #openInterrupts = 0;
  /** The subgraph that the task runs, if it does. */
  child: Stoppable | undefined;
  /** True if its subgraph failed after it sent answer text. */
  isUnretryable = false;
  /** True when its result is written. */
  isDone = false;

  constructor(host: GraphHost, span: NodeRun, spec: TaskSpec, parent: TaskRun | undefined) {
    this.host = host;
    this.#parent = parent;
    this.span = span;
    this.spec = spec;
  }

  get runId(): string {
    return this.host.runId;
  }

  get step(): number {
    return this.spec.step;
  }

  get task(): number {
    return this.spec.task;
  }

  get path(): string {
    const { ns, step, task } = this.spec;
    return `${formatStepPath(ns, step)}.${task}`;
  }

  get input(): Json | undefined {
    return this.spec.input;
  }

  get endedCalls(): ReadonlyMap<string, ToolEndEvent> {
    return this.spec.endedCalls;
  }

  /** Created on demand: most steps end before a node uses it. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted.reason);
    }
    return this.#controller.signal;
  }

  // Getters, because nodes destructure the context. Unused ones cost nothing.
  get custom(): NodeContext["custom"] {
    return (value) => void this.span.emit({ type: "custom", value });
  }

  get emitWithResult(): NodeContext["emitWithResult"] {
    return this.#part.emitWithResult;
  }

  /** Path of this node run, for its parts and its subgraph. */
  get partPath(): string {
    const { ns, step, task } = this.spec;
    return `${ns === "" ? "" : `${ns}|`}${this.span.name}:${step}.${task}`;
  }

  get has(): NodeContext["has"] {
    return this.#part.has;
  }

  get once(): NodeContext["once"] {
    return this.#part.once;
  }

  get #part(): PartRun {
    const { ns, step, task } = this.spec;
    this.#context ??= new PartRun(this.parts, this.span, this.partPath, `${formatStepPath(ns, step)}-${task}`);
    return this.#context;
  }

  get parts(): TaskParts {
    this.#parts ??= new TaskParts(this);
    return this.#parts;
  }

  /** True if one of its parts failed after it sent answer text. */
  get hasUnretryableParts(): boolean {
    return this.#parts?.isUnretryable === true;
  }

  /** True if parts are running. */
  get hasOpenParts(): boolean {
    return this.#parts?.isOpen === true;
  }

  get ready(): NodeContext["ready"] {
    return () => this.host.ready();
  }

  get interrupt(): NodeContext["interrupt"] {
    return async (question, options) => {
      // Questions are matched by their number, and parts that are done do not ask again.
      if (this.hasOpenParts)
        throw new LoomError("graph_invalid", "Parts of this node are running; ask the user from a part instead");
      return this.#part.interrupt(question, options);
    };
  }

  async waitForAnswer(
    call: InterruptCall,
    question: JsonObject,
    { expiresInMs }: { readonly expiresInMs?: number },
    nodeId: string,
  ): Promise<InterruptAnswer> {
    // An aborted part must not ask.
    this.assertNotAborted();
    const { callId } = call;
    const request = { callId, name: "interrupt", arguments: question, ...dropUndefined({ expiresInMs }) };
    this.#pauseTimeouts();
    try {
      const answer = await this.orAborted(this.host.requestApproval(request, { nodeId }));
      const { decision, arguments: value, reason } = answer;
      call.answer = dropUndefined({ decision, value, reason });
      return call.answer;
    } finally {
      this.#resumeTimeouts();
    }
  }

  /** Time spent waiting for the user does not count, for the node and for the nodes around it. */
  #pauseTimeouts(): void {
    this.#openInterrupts++;
    this.#stopTimeout();
    if (this.#parent !== undefined) this.#parent.#pauseTimeouts();
  }

  #resumeTimeouts(): void {
    this.#openInterrupts--;
    this.#startTimeout();
    if (this.#parent !== undefined) this.#parent.#resumeTimeouts();
  }

  /** The events to write with the end of the node run; see `PartRun`. */
  listEndings(): readonly AnyEvent[] {
    return this.#context?.listEndings() ?? NO_EVENTS;
  }

  /** True if `listEndings` has only events of the runtime. */
  get areChecked(): boolean {
    return this.#context?.areChecked !== false;
  }

  /** Calls the node. Returns its result, or a promise that rejects if the node does not end after an abort. */
  perform(work: () => unknown, timeoutMs: number | undefined, graceMs: number): unknown {
    this.#graceMs = graceMs;
    this.#timeLeft = timeoutMs ?? 0;
    const result = work();
    if (!isPromiseLike(result) && !this.hasOpenParts) return result;
    this.#startTimeout();
    return new Promise((resolve, reject) => {
      this.#abandon = reject;
      // The node is not done before its parts are, even if it does not await them.
      const settle = (value: unknown): void => {
        if (this.hasOpenParts) void this.parts.join().then(() => resolve(value), reject);
        else resolve(value);
      };
      if (isPromiseLike(result)) result.then(settle, reject);
      else settle(result);
      if (this.#aborted !== undefined && this.#grace === undefined) this.#abandon(this.#aborted.reason);
    });
  }

  /** Aborts the node. After the grace period, it is abandoned. */
  abort(reason: unknown, graceMs: number): void {
    const isFirst = this.#aborted === undefined;
    this.#aborted ??= { reason };
    this.child?.abort(reason, graceMs);
    if (graceMs <= 0) this.#abandon?.(reason);
    else if (isFirst) this.#grace = setTimeout(() => this.#abandon?.(reason), graceMs);
    if (!isFirst) return;
    this.#stopTimeout();
    this.#controller?.abort(reason);
    for (const reject of this.#waiting ?? []) reject(reason);
  }

  /** Set when the task was aborted. */
  get abortReason(): { readonly reason: unknown } | undefined {
    return this.#aborted;
  }

  /** The error of the timeout that aborted the task; undefined if it was not aborted, or for another reason. */
  get timeout(): LoomError | undefined {
    const reason = this.#aborted?.reason;
    return isLoomError(reason, "node_timeout") ? reason : undefined;
  }

  assertNotAborted(): void {
    if (this.#aborted !== undefined) throw this.#aborted.reason;
  }

  /** Returns the promise, or rejects when the task is aborted. */
  async orAborted<T>(promise: Promise<T>): Promise<T> {
    this.assertNotAborted();
    const { promise: stopped, reject } = Promise.withResolvers<never>();
    this.#waiting ??= new Set();
    this.#waiting.add(reject);
    try {
      return await Promise.race([promise, stopped]);
    } finally {
      this.#waiting.delete(reject);
    }
  }

  /** Stops all timers and ignores further results. */
  end(): void {
    if (this.#timeout !== undefined) this.#stopTimeout();
    this.#timeLeft = 0;
    if (this.#grace !== undefined) clearTimeout(this.#grace);
    this.#abandon = undefined;
  }

  #startTimeout(): void {
    if (this.#timeLeft <= 0 || this.#openInterrupts > 0 || this.#timeout !== undefined || this.#aborted !== undefined)
      return;
    this.#timeoutStarted = performance.now();
    this.#timeout = setTimeout(() => {
      const { name } = this.span;
      this.abort(new LoomError("node_timeout", `Node "${name}" timed out`, { node: name }), this.#graceMs);
    }, this.#timeLeft);
  }

  #stopTimeout(): void {
    if (this.#timeout === undefined) return;
    clearTimeout(this.#timeout);
    this.#timeout = undefined;
    this.#timeLeft = Math.max(1, this.#timeLeft - (performance.now() - this.#timeoutStarted));
  }
}

const NO_EVENTS: readonly AnyEvent[] = [];

export function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}
