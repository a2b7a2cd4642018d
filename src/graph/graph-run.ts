/**
 * A graph on its way: super-step after super-step. All tasks of one are shown the state of its beginning and run side by
 * side; what they wrote is merged in the order of the tasks, whichever ended first. A subgraph is another of the same.
 *
 * Invariants:
 * - A finished task is one append: what ends its questions, its `updates`, its `node_exit`. The end of a super-step is
 *   one append: `values` and `checkpoint`; of a single task both are the same one.
 * - A task whose append was made is not run again, by this object or by one that was restored from the log.
 * - Nothing that happens per step grows with the number of steps or the size of the state.
 */
import { type GraphState, type Json, LoomError, type StatePatch, type ToolEndEvent } from "../protocol/index.ts";
import { listTargets } from "./define-graph.ts";
import { END, type Graph, type GraphNode } from "./graph.ts";
import {
  createCheckpoint,
  createCheckpointDelta,
  createUpdates,
  createValues,
  createValuesDelta,
  type NextTask,
  type Place,
} from "./graph-events.ts";
import type { GraphHost } from "./graph-host.ts";
import { LiveState, NO_CORRECTIONS } from "./live-state.ts";
import type { Pacer } from "./pacer.ts";
import type { PartResults } from "./parts.ts";
import { findRetryDelay, pauseFor } from "./retry.ts";
import { isPromiseLike, type Stoppable, TaskRun } from "./task-run.ts";

/** What a graph and its subgraphs share. */
export interface GraphEnvironment {
  readonly host: GraphHost;
  readonly pacer: Pacer;
  /** Tool calls that ended since the root's last checkpoint, before the process died; none once it has made another. */
  endedCalls: ReadonlyMap<string, ToolEndEvent>;
  /** What the log holds of a subgraph that was going when the process died. */
  findStored(ns: string): GraphState | undefined;
  /** Subgraphs that are going, by their path: one that is tried again goes on where it was. */
  readonly children: Map<string, GraphRun>;
  /** What parts of nodes have given in the root's super-step. */
  readonly parts: PartResults;
}

export const NO_CALLS: ReadonlyMap<string, ToolEndEvent> = new Map();

export class GraphRun implements Stoppable {
  readonly #graph: Graph;
  readonly #env: GraphEnvironment;
  readonly #place: Place;
  readonly #state: LiveState;
  #step = 0;
  #next: readonly NextTask[] = [];
  /** Tasks of the coming super-step that have finished. */
  #finished = new Set<number>();
  #corrections: StatePatch = NO_CORRECTIONS;
  readonly #running = new Set<TaskRun>();
  #aborted: { readonly reason: unknown } | undefined;
  /** Why the tasks of this super-step are to stop: one has failed. */
  #stop: LoomError | undefined;
  /** The task that this subgraph is, in its latest try. */
  #parent: TaskRun | undefined;
  /** Settles when nothing of the latest `run` is going any more. */
  #left: Promise<unknown> | undefined;
  /** A task that had sent answer text has failed: it cannot be tried again. */
  isSpoiled = false;

  constructor(graph: Graph, env: GraphEnvironment, ns: string) {
    this.#graph = graph;
    this.#env = env;
    const { runId, sessionId } = env.host;
    this.#place = { runId, sessionId, ns };
    this.#state = new LiveState(graph.channels);
  }

  /** Writes the checkpoint of the input. */
  begin(input: unknown, around?: LiveState): void {
    this.#state.begin(input, around);
    this.#next = this.#listTasks([this.#graph.start]);
    this.#writeStart();
  }

  /** The same from a state and what comes next: those of a checkpoint of another run. */
  beginFrom(state: Json, next: readonly NextTask[]): void {
    this.#state.restore(state);
    this.#next = next;
    this.#assertNodes();
    this.#writeStart();
  }

  /** Takes over what the log holds; nothing is written. Throws `graph_changed` where it does not fit the graph. */
  restore({ base, pending, checkpoint, isWhole }: GraphState): void {
    if (checkpoint?.next === undefined || !isWhole)
      throw new LoomError("unknown_checkpoint", "the log holds no checkpoint that a graph could go on from");
    this.#state.restore(base);
    this.#step = checkpoint.step;
    this.#next = checkpoint.next;
    this.#assertNodes();
    for (const { task, id, patch } of pending) {
      if (this.#next[task]?.id !== id) throw changed(`task ${task} was of node "${id}"`);
      this.#state.addStored(task, patch);
      this.#finished.add(task);
    }
  }

  #assertNodes(): void {
    for (const { id } of this.#next) if (!this.#graph.nodes.has(id)) throw changed(`there is no node "${id}"`);
  }

  #writeStart(): void {
    const { host } = this.#env;
    if (host.isSilent === true) return;
    const state = this.#state.copy();
    const checkpoint = createCheckpoint(this.#place, host.now(), 0, state, this.#next);
    host.postUnit(this.#graph.values ? [createValues(this.#place.ns, state), checkpoint] : [checkpoint]);
  }

  /** Goes on to the end, and gives the last state. After a failure it can be called again: it goes on where it was. */
  run(): Promise<Readonly<{ [channel: string]: Json }>> {
    const going = this.#goOn();
    this.#left = going.catch(() => undefined);
    return going;
  }

  async #goOn(): Promise<Readonly<{ [channel: string]: Json }>> {
    const { pacer, host } = this.#env;
    const { maxSteps, name } = this.#graph;
    while (this.#next.length > 0) {
      if (this.#step >= maxSteps)
        throw new LoomError("step_limit", `graph "${name}" has taken ${maxSteps} steps`, { limit: maxSteps });
      try {
        const pause = pacer.pause(host);
        if (pause !== undefined) await pause;
        this.#assertGoing();
        await this.#runStep();
      } catch (error) {
        // Told to stop, nodes say so in many ways.
        this.#assertGoing();
        throw error;
      }
    }
    return this.#state.values;
  }

  /** Tells all that is going to stop. */
  abort(reason: unknown, graceMs: number): void {
    this.#aborted = { reason };
    for (const task of this.#running) task.abort(reason, graceMs);
  }

  #assertGoing(): void {
    const { signal } = this.#env.host;
    if (signal.aborted) throw signal.reason;
    if (this.#aborted !== undefined) throw this.#aborted.reason;
  }

  async #runStep(): Promise<void> {
    this.#stop = undefined;
    const { length } = this.#next;
    if (length === 1 && this.#finished.size === 0) {
      await this.#runTask(0, true);
      return;
    }
    const todo: number[] = [];
    for (let task = 0; task < length; task++) if (!this.#finished.has(task)) todo.push(task);
    if (todo.length > 0) await this.#runTasks(todo);
    while (this.#env.host.isBehind) await this.#env.host.ready();
    const events = this.#endStep();
    if (events.length > 0) this.#env.host.postUnit(events);
  }

  /** Side by side, so many at once as may be. When one fails, the others are told to stop and waited for. */
  async #runTasks(todo: readonly number[]): Promise<void> {
    // The one that stopped the others: what those say then, they say because of it.
    let failure: { readonly error: unknown } | undefined;
    const waiting = todo.values();
    const work = async (): Promise<void> => {
      for (const task of waiting) {
        if (this.#stop !== undefined || this.#aborted !== undefined) return;
        try {
          await this.#runTask(task, false);
        } catch (error) {
          if (failure !== undefined) continue;
          failure = { error };
          this.#stop = new LoomError("interrupted", `stopped, since "${this.#next[task]?.id}" failed`);
          for (const other of this.#running) other.abort(this.#stop, this.#graph.graceMs);
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(this.#graph.concurrency, todo.length) }, work));
    if (failure !== undefined) throw failure.error;
    this.#assertGoing();
  }

  async #runTask(task: number, isAlone: boolean): Promise<void> {
    const { id, input } = this.#next[task] as NextTask;
    const node = this.#graph.nodes.get(id) as GraphNode;
    const { host } = this.#env;
    let { endedCalls } = this.#env;
    for (let attempt = 1; ; attempt++) {
      // Asked again and again, here and below: those who are woken together must not flood the log together.
      while (host.isBehind) await host.ready();
      this.#assertGoing();
      if (this.#stop !== undefined) throw this.#stop;
      const { parts } = this.#env;
      const place = { ns: this.#place.ns, step: this.#step + 1, task, input, endedCalls, parts };
      const run = new TaskRun(host, host.enter(id, this.#parent?.span.nodeId), place, this.#parent);
      this.#running.add(run);
      let delay: number | undefined;
      try {
        let result = run.perform(() => this.#call(node, run), node.timeoutMs, this.#graph.graceMs);
        if (isPromiseLike(result)) result = await result;
        if (isTimeout(run.abortReason?.reason)) throw run.abortReason?.reason;
        while (host.isBehind) await host.ready();
        this.#finish(run, task, node, result, isAlone);
        return;
      } catch (thrown) {
        const error = isTimeout(run.abortReason?.reason) ? run.abortReason?.reason : thrown;
        const wasStopped = isStopped(run);
        // Whatever of it is still going has nobody to work for.
        run.abort(error, 0);
        if (run.hasOpenParts) await run.parts.leave(error, host.signal.aborted ? 0 : this.#graph.graceMs);
        void run.span.fail(error);
        if (run.isDone) throw error;
        if (run.span.answered || run.isSpoiled || run.hasSpoiledParts) this.isSpoiled = true;
        const mayRetry = !this.isSpoiled && this.#aborted === undefined && !host.signal.aborted;
        if (mayRetry && !wasStopped) delay = findRetryDelay(node.retry, attempt, error);
        if (delay === undefined) throw error;
      } finally {
        run.end();
        this.#running.delete(run);
        // Not before: a subgraph that has come to its end does not begin anew because its output was refused.
        if (run.isDone && node.child !== undefined) this.#env.children.delete(this.#nameChild(id, run));
      }
      endedCalls = join(endedCalls, run.span.endedCalls);
      await this.#pause(delay, run);
    }
  }

  /** Waits before the next try; an abort ends it. */
  async #pause(ms: number, run: TaskRun): Promise<void> {
    const waiter = new TaskRun(this.#env.host, run.span, run.place, undefined);
    this.#running.add(waiter);
    try {
      await pauseFor(ms, waiter);
    } finally {
      waiter.end();
      this.#running.delete(waiter);
    }
  }

  #call(node: GraphNode, run: TaskRun): unknown {
    if (node.child === undefined) return node.run?.(this.#state.values, run);
    return this.#callChild(node.child, node.name, run);
  }

  #nameChild(name: string, { step, task }: TaskRun): string {
    const { ns } = this.#place;
    return `${ns === "" ? "" : `${ns}|`}${name}:${step}.${task}`;
  }

  async #callChild(definition: NonNullable<GraphNode["child"]>, name: string, run: TaskRun): Promise<unknown> {
    const { children, host } = this.#env;
    const path = this.#nameChild(name, run);
    const { values } = this.#state;
    const known = children.get(path);
    const child = known ?? new GraphRun(definition.graph, this.#env, path);
    run.child = child;
    // A try that was left behind may still be on its way out.
    if (known !== undefined) await known.#left;
    while (host.isBehind) await host.ready();
    if (run.abortReason !== undefined) throw run.abortReason.reason;
    child.#aborted = undefined;
    child.#parent = run;
    if (known === undefined) {
      const stored = this.#env.findStored(path);
      if (stored?.checkpoint !== undefined) child.restore(stored);
      else child.begin(definition.input(values, run), this.#state);
      children.set(path, child);
    }
    try {
      return definition.output(await child.run(), values);
    } finally {
      run.isSpoiled = child.isSpoiled;
    }
  }

  /** Writes what a task has done. */
  #finish(run: TaskRun, task: number, node: GraphNode, result: unknown, isAlone: boolean): void {
    const patch = this.#state.createPatch(result, `node "${node.name}"`);
    const stored = this.#state.add(task, patch);
    const { isSilent } = this.#env.host;
    const before =
      isSilent === true ? [] : [...run.listEndings(), createUpdates(this.#place.ns, node.name, task, stored)];
    if (!isAlone) {
      if (isSilent !== true) run.span.commit({ before, areChecked: run.areChecked });
      run.isDone = true;
      this.#finished.add(task);
      return;
    }
    this.#finished.add(task);
    // From here on it is done, whatever comes: the state has changed.
    run.isDone = true;
    let after;
    try {
      after = this.#endStep();
    } catch (error) {
      if (isSilent !== true) run.span.commit({ before, areChecked: run.areChecked });
      throw error;
    }
    if (isSilent !== true) run.span.commit({ before, after, areChecked: run.areChecked });
  }

  /** Merges, finds what comes next, and gives the events that say so. */
  #endStep():
    | readonly []
    | readonly (ReturnType<typeof createValuesDelta> | ReturnType<typeof createCheckpointDelta>)[] {
    const found = this.#state.endStep();
    if (found !== NO_CORRECTIONS) this.#corrections = { ...this.#corrections, ...found };
    const ended = this.#next;
    const next = this.#listTasks(ended.map(({ id }) => (this.#graph.nodes.get(id) as GraphNode).edge));
    const corrections = this.#corrections;
    this.#next = next;
    this.#step++;
    this.#finished.clear();
    this.#corrections = NO_CORRECTIONS;
    if (this.#place.ns === "") {
      this.#env.endedCalls = NO_CALLS;
      this.#env.parts.clear();
    }
    const { host } = this.#env;
    if (host.isSilent === true) return [];
    const checkpoint = createCheckpointDelta(this.#place, host.now(), this.#step, corrections, next);
    return this.#graph.values ? [createValuesDelta(this.#place.ns, corrections), checkpoint] : [checkpoint];
  }

  /** The tasks that edges ask for, in their order. A node is asked for once, unless it is given something. */
  #listTasks(edges: readonly GraphNode["edge"][]): readonly NextTask[] {
    const { values } = this.#state;
    const { nodes, maxTasks, name } = this.#graph;
    const tasks: NextTask[] = [];
    // No longer than the graph has nodes.
    const plain: string[] = [];
    for (const edge of edges) {
      const targets = typeof edge === "function" ? edge(values) : edge;
      if (targets === END) continue;
      for (const target of listTargets(targets)) {
        const isPlain = typeof target === "string";
        const id = isPlain ? target : target?.node;
        if (id === END) continue;
        if (!nodes.has(id))
          throw new LoomError("graph_invalid", `an edge of "${name}" leads to "${id}", which is no node`);
        const input = isPlain ? undefined : target.input;
        if (input !== undefined) tasks.push({ id, input: this.#state.detach(input, `an edge to "${id}" gives`) });
        else if (!plain.includes(id)) {
          plain.push(id);
          tasks.push({ id });
        }
      }
    }
    if (tasks.length > maxTasks)
      throw new LoomError("too_many_open", `a step of "${name}" has ${tasks.length} tasks`, { limit: maxTasks });
    return tasks;
  }
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof LoomError && reason.code === "node_timeout";
}

/** Told to stop, and not for want of time. */
function isStopped(run: TaskRun): boolean {
  return run.abortReason !== undefined && !isTimeout(run.abortReason.reason);
}

function join<K, V>(first: ReadonlyMap<K, V>, second: ReadonlyMap<K, V>): ReadonlyMap<K, V> {
  return second.size === 0 ? first : new Map([...first, ...second]);
}

function changed(message: string): LoomError {
  return new LoomError("graph_changed", `the graph is not the one that was left: ${message}`);
}
