/**
 * One try of one node within a super-step: what the node is given to work with, and what can happen to it from outside: it
 * is aborted, it runs out of time, it is left behind. It knows nothing of the graph around it.
 *
 * Invariant: whatever the node does, the promise of `perform` settles once it was aborted and its grace is over.
 */
import type { NodeRun } from "../engine/index.ts";
import { type AnyEvent, type Json, type JsonObject, LoomError, type ToolEndEvent } from "../protocol/index.ts";
import type { InterruptAnswer, NodeContext } from "./graph.ts";
import { nameStep } from "./graph-events.ts";
import type { GraphHost } from "./graph-host.ts";
import { type Ask, listAskEnds, type PartResults, TaskParts } from "./parts.ts";

export interface TaskPlace {
  readonly ns: string;
  readonly step: number;
  readonly task: number;
  readonly input: Json | undefined;
  readonly endedCalls: ReadonlyMap<string, ToolEndEvent>;
  /** Of all tasks that are going. */
  readonly parts: PartResults;
}

/** Something inside the task that must be stopped with it. */
export interface Stoppable {
  abort(reason: unknown, graceMs: number): void;
}

export class TaskRun implements NodeContext {
  readonly span: NodeRun;
  readonly place: TaskPlace;
  readonly #host: GraphHost;
  /** The task whose subgraph it is part of. */
  readonly #parent: TaskRun | undefined;
  #controller: AbortController | undefined;
  #aborted: { readonly reason: unknown } | undefined;
  #asks: Ask[] | undefined;
  #concluded: AnyEvent[] | undefined;
  #parts: TaskParts | undefined;
  /** Those inside it that wait for something, and must not when it is aborted. */
  #waiting: Set<(reason: unknown) => void> | undefined;
  /** Lets go of the node's promise. */
  #abandon: ((reason: unknown) => void) | undefined;
  #grace: NodeJS.Timeout | undefined;
  #clock: NodeJS.Timeout | undefined;
  #clockStarted = 0;
  #timeLeft = 0;
  #graceMs = 0;
  /** Questions that are open, here and in the subgraph. */
  #asking = 0;
  /** The subgraph it is. */
  child: Stoppable | undefined;
  /** A part of it has sent answer text and failed. */
  isSpoiled = false;
  /** Its result is written. */
  isDone = false;

  constructor(host: GraphHost, span: NodeRun, place: TaskPlace, parent: TaskRun | undefined) {
    this.#host = host;
    this.#parent = parent;
    this.span = span;
    this.place = place;
  }

  get runId(): string {
    return this.#host.runId;
  }

  get step(): number {
    return this.place.step;
  }

  get task(): number {
    return this.place.task;
  }

  get path(): string {
    const { ns, step, task } = this.place;
    return `${nameStep(ns, step)}.${task}`;
  }

  get input(): Json | undefined {
    return this.place.input;
  }

  get endedCalls(): ReadonlyMap<string, ToolEndEvent> {
    return this.place.endedCalls;
  }

  /** Made when somebody asks for it: most steps are over before anybody would. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted.reason);
    }
    return this.#controller.signal;
  }

  // Nodes take these out of the context; bound when asked for, they cost nothing where nobody does.
  get custom(): NodeContext["custom"] {
    return (value) => void this.span.emit({ type: "custom", value });
  }

  get conclude(): NodeContext["conclude"] {
    return (event) => void (this.#concluded ??= []).push(event);
  }

  /** Of the parts of this node run. */
  get #partPath(): string {
    const { ns, step, task } = this.place;
    return `${ns === "" ? "" : `${ns}|`}${this.span.name}:${step}.${task}`;
  }

  get has(): NodeContext["has"] {
    const path = this.#partPath;
    return (key) => this.parts.has(`${path}|${key}`);
  }

  get once(): NodeContext["once"] {
    const path = this.#partPath;
    return (key, work, options) => this.parts.once(this.span, `${path}|${key}`, key, work, options);
  }

  get parts(): TaskParts {
    this.#parts ??= new TaskParts({
      results: this.place.parts,
      host: this.#host,
      assertGoing: () => {
        if (this.#aborted !== undefined) throw this.#aborted.reason;
      },
      ask: (ask, question, options, nodeId) => this.#ask(ask, question, options, nodeId),
    });
    return this.#parts;
  }

  /** One of its parts had sent answer text and failed. */
  get hasSpoiledParts(): boolean {
    return this.#parts?.isSpoiled === true;
  }

  /** Some of its parts are going. */
  get hasOpenParts(): boolean {
    return this.#parts?.isOpen === true;
  }

  get ready(): NodeContext["ready"] {
    return () => this.#host.ready();
  }

  get interrupt(): NodeContext["interrupt"] {
    return async (question, options = {}) => {
      // The questions of a node are counted, and a part that is done does not ask again.
      if (this.hasOpenParts)
        throw new LoomError("graph_invalid", "while parts of a node are going, questions are asked in them");
      this.#asks ??= [];
      const { ns, step, task } = this.place;
      const ask: Ask = { callId: `ask-${nameStep(ns, step)}-${task}-${this.#asks.length}`, answer: undefined };
      this.#asks.push(ask);
      return this.#ask(ask, question, options, this.span.nodeId);
    };
  }

  async #ask(
    ask: Ask,
    question: JsonObject,
    { expiresInMs }: { readonly expiresInMs?: number },
    nodeId: string,
  ): Promise<InterruptAnswer> {
    // A part that was told to stop asks nobody.
    if (this.#aborted !== undefined) throw this.#aborted.reason;
    const { callId } = ask;
    const expiry = expiresInMs === undefined ? {} : { expiresInMs };
    this.#holdClocks();
    try {
      const {
        decision,
        arguments: value,
        reason,
      } = await this.orAborted(
        this.#host.requestApproval({ callId, name: "interrupt", arguments: question, ...expiry }, { nodeId }),
      );
      ask.answer = { decision, value, ...(reason === undefined ? {} : { reason }) };
      return ask.answer;
    } finally {
      this.#releaseClocks();
    }
  }

  /** Time that the user takes is not the node's, nor that of those around it. */
  #holdClocks(): void {
    this.#asking++;
    this.#stopClock();
    if (this.#parent !== undefined) this.#parent.#holdClocks();
  }

  #releaseClocks(): void {
    this.#asking--;
    this.#startClock();
    if (this.#parent !== undefined) this.#parent.#releaseClocks();
  }

  /** What ends the questions it asked, and what it has concluded: for the append that ends the node run. */
  listEndings(): readonly AnyEvent[] {
    if (this.#asks === undefined) return this.#concluded ?? NO_EVENTS;
    const ends = listAskEnds(this.#asks);
    return this.#concluded === undefined ? ends : [...ends, ...this.#concluded];
  }

  /** All that `listEndings` gives is the runtime's own. */
  get areChecked(): boolean {
    return this.#concluded === undefined;
  }

  /** Calls the node; gives what it gives, or a promise that is let go when the node does not end after an abort. */
  perform(work: () => unknown, timeoutMs: number | undefined, graceMs: number): unknown {
    this.#graceMs = graceMs;
    this.#timeLeft = timeoutMs ?? 0;
    const result = work();
    if (!isPromiseLike(result) && !this.hasOpenParts) return result;
    this.#startClock();
    return new Promise((resolve, reject) => {
      this.#abandon = reject;
      // Parts it has not waited for are its work all the same.
      const settle = (value: unknown): void => {
        if (this.hasOpenParts) void this.parts.join().then(() => resolve(value), reject);
        else resolve(value);
      };
      if (isPromiseLike(result)) result.then(settle, reject);
      else settle(result);
      if (this.#aborted !== undefined && this.#grace === undefined) this.#abandon(this.#aborted.reason);
    });
  }

  /** Tells the node to stop; past its grace it is left behind. */
  abort(reason: unknown, graceMs: number): void {
    const isFirst = this.#aborted === undefined;
    this.#aborted ??= { reason };
    this.child?.abort(reason, graceMs);
    if (graceMs <= 0) this.#abandon?.(reason);
    else if (isFirst) this.#grace = setTimeout(() => this.#abandon?.(reason), graceMs);
    if (!isFirst) return;
    this.#stopClock();
    this.#controller?.abort(reason);
    for (const reject of this.#waiting ?? []) reject(reason);
  }

  /** Why it was told to stop. */
  get abortReason(): { readonly reason: unknown } | undefined {
    return this.#aborted;
  }

  /** The same promise, which rejects when the task is aborted. */
  async orAborted<T>(promise: Promise<T>): Promise<T> {
    if (this.#aborted !== undefined) throw this.#aborted.reason;
    const { promise: stopped, reject } = Promise.withResolvers<never>();
    this.#waiting ??= new Set();
    this.#waiting.add(reject);
    try {
      return await Promise.race([promise, stopped]);
    } finally {
      this.#waiting.delete(reject);
    }
  }

  /** It is over: nothing is to come of it. */
  end(): void {
    if (this.#clock !== undefined) this.#stopClock();
    this.#timeLeft = 0;
    if (this.#grace !== undefined) clearTimeout(this.#grace);
    this.#abandon = undefined;
  }

  #startClock(): void {
    if (this.#timeLeft <= 0 || this.#asking > 0 || this.#clock !== undefined || this.#aborted !== undefined) return;
    this.#clockStarted = performance.now();
    this.#clock = setTimeout(() => {
      const { name } = this.span;
      this.abort(new LoomError("node_timeout", `node "${name}" has run out of time`, { node: name }), this.#graceMs);
    }, this.#timeLeft);
  }

  #stopClock(): void {
    if (this.#clock === undefined) return;
    clearTimeout(this.#clock);
    this.#clock = undefined;
    this.#timeLeft = Math.max(1, this.#timeLeft - (performance.now() - this.#clockStarted));
  }
}

const NO_EVENTS: readonly AnyEvent[] = [];

export function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}
