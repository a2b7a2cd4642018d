/**
 * Executes a graph, one super-step after another. All tasks of a super-step read the state from its start and run in
 * parallel. Their writes are merged in task order, whichever task ends first. A subgraph is another `GraphRun`.
 *
 * Invariants:
 * - A finished task is one append: the ends of its interrupts, its `updates` and its `node_exit`. The end of a
 *   super-step is one append: `values` and `checkpoint`. If the super-step has a single task, both are the same
 *   append.
 * - A task whose append succeeded is not run again, neither by this object nor after a restore from the log.
 * - The cost of a step does not depend on the number of steps or the size of the state.
 */
import { performance } from "node:perf_hooks";
import { setImmediate } from "node:timers/promises";
import { type AnyEvent, type Json, LoomError } from "../protocol/index.ts";
import type { GraphState } from "../protocol/state-fold.ts";
import type { ToolEndEvent } from "../protocol/events.generated.ts";
import type { StatePatch } from "../protocol/state-patch.ts";
import { listTargets } from "./define-graph.ts";
import { END, type Graph, type GraphNode } from "./graph.ts";
import { createCheckpoint, createUpdates, createValues, type NextTask, type GraphAddress } from "./graph-events.ts";
import type { GraphHost } from "./graph-host.ts";
import { graphChanged, LiveState, NO_CORRECTIONS } from "./live-state.ts";
import type { PartResults } from "./parts.ts";
import { findRetryDelay } from "./retry.ts";
import { isPromiseLike, type Stoppable, TaskRun } from "./task-run.ts";

/** What a graph shares with its subgraphs. */
export interface GraphEnvironment {
  readonly host: GraphHost;
  readonly pacer: Pacer;
  /**
   * Tool calls that ended after the root's last checkpoint, before the process died. Empty after the next checkpoint.
   */
  endedCalls: ReadonlyMap<string, ToolEndEvent>;
  /** Returns the stored state of a subgraph that was running when the process died. */
  findStored(ns: string): GraphState | undefined;
  /** Running subgraphs by path. A subgraph that is retried continues where it stopped. */
  readonly children: Map<string, GraphRun>;
  /** Results of node parts in the root's current super-step. */
  readonly parts: PartResults;
}

export const NO_CALLS: ReadonlyMap<string, ToolEndEvent> = new Map();

/** Milliseconds that a graph may run before it yields to the event loop. */
const MAX_TURN_MS = 10;
/** Steps between two checks of the clock. */
const STEPS_PER_CHECK = 16;

/**
 * Makes a graph yield to the event loop and wait for a slow log. Steps can be shorter than a microsecond, and a chain
 * of promises alone would block the process.
 */
export class Pacer {
  #steps = 0;
  #turnBegan = performance.now();

  /** Returns a promise to await before the next step, or undefined. */
  pause(host: GraphHost): Promise<void> | undefined {
    if (host.isBehind) return host.ready();
    if (++this.#steps % STEPS_PER_CHECK !== 0 || performance.now() - this.#turnBegan < MAX_TURN_MS) return undefined;
    return this.#yield();
  }

  async #yield(): Promise<void> {
    await setImmediate();
    this.#turnBegan = performance.now();
  }
}

export class GraphRun implements Stoppable {
  readonly #graph: Graph;
  readonly #env: GraphEnvironment;
  readonly #address: GraphAddress;
  readonly #state: LiveState;
  #step = 0;
  #next: readonly NextTask[] = [];
  /** Finished tasks of the current super-step. */
  #finished = new Set<number>();
  #corrections: StatePatch = NO_CORRECTIONS;
  readonly #running = new Set<Stoppable>();
  #aborted: { readonly reason: unknown } | undefined;
  /** Set when a task failed and the other tasks of the super-step must stop. */
  #stop: LoomError | undefined;
  /** The task that runs this subgraph, in its latest attempt. */
  #parent: TaskRun | undefined;
  /** Settles when the latest `run` has ended. */
  #settled: Promise<unknown> | undefined;
  /** True if a task failed after it sent answer text. Such text cannot be repeated, so there is no retry. */
  isUnretryable = false;

  constructor(graph: Graph, env: GraphEnvironment, ns: string) {
    this.#graph = graph;
    this.#env = env;
    const { runId, sessionId } = env.host;
    this.#address = { runId, sessionId, ns };
    this.#state = new LiveState(graph.channels);
  }

  /** Applies the input and writes the first checkpoint. */
  begin(input: unknown, around?: LiveState): void {
    this.#state.begin(input, around);
    this.#next = this.#listTasks([this.#graph.start]);
    const { host } = this.#env;
    if (host.isSilent === true) return;
    const state = this.#state.copy();
    const checkpoint = createCheckpoint(this.#address, host.now(), 0, state, this.#next, false);
    host.postUnit(this.#graph.values ? [createValues(this.#address.ns, state, false), checkpoint] : [checkpoint]);
  }

  /** Restores the state from the log and writes nothing. Throws `graph_changed` if the state does not fit the graph. */
  restore({ base, pending, checkpoint, isComplete }: GraphState): void {
    if (checkpoint?.next === undefined || !isComplete)
      throw new LoomError("unknown_checkpoint", "The log has no checkpoint to resume this graph from");
    this.#state.restore(base);
    this.#step = Number(checkpoint.step);
    if (!Number.isSafeInteger(this.#step)) throw graphChanged(`step "${checkpoint.step}" is not an integer`);
    this.#next = checkpoint.next;
    for (const { id } of this.#next) if (!this.#graph.nodes.has(id)) throw graphChanged(`there is no node "${id}"`);
    for (const { task, id, patch } of pending) {
      if (this.#next[task]?.id !== id) throw graphChanged(`task ${task} was a task of node "${id}"`);
      this.#state.addStored(task, patch);
      this.#finished.add(task);
    }
  }

  /**
   * Runs to the end and returns the last state. After a failure, it can be called again and continues where it stopped.
   */
  run(): Promise<Readonly<{ [channel: string]: Json }>> {
    const going = this.#runSteps();
    this.#settled = going.catch(() => undefined);
    return going;
  }

  async #runSteps(): Promise<Readonly<{ [channel: string]: Json }>> {
    const { pacer, host } = this.#env;
    const { maxSteps, name } = this.#graph;
    while (this.#next.length > 0) {
      if (this.#step >= maxSteps)
        throw new LoomError("step_limit", `Graph "${name}" reached its limit of ${maxSteps} steps`, {
          limit: maxSteps,
        });
      try {
        const pause = pacer.pause(host);
        if (pause !== undefined) await pause;
        this.#assertNotAborted();
        await this.#runStep();
      } catch (error) {
        // After an abort, report its reason rather than the errors it causes.
        this.#assertNotAborted();
        throw error;
      }
    }
    return this.#state.values;
  }

  /** Stops everything that is running. */
  abort(reason: unknown, graceMs: number): void {
    this.#aborted = { reason };
    for (const task of this.#running) task.abort(reason, graceMs);
  }

  #assertNotAborted(): void {
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

  /** Runs tasks in parallel, up to the concurrency limit. If one fails, the others are stopped and awaited. */
  async #runTasks(todo: readonly number[]): Promise<void> {
    // The first failure. Later ones are its consequences.
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
          this.#stop = new LoomError("interrupted", `Stopped because "${this.#next[task]?.id}" failed`);
          for (const other of this.#running) other.abort(this.#stop, this.#graph.graceMs);
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(this.#graph.concurrency, todo.length) }, work));
    if (failure !== undefined) throw failure.error;
    this.#assertNotAborted();
  }

  async #runTask(task: number, isAlone: boolean): Promise<void> {
    const { id, input } = this.#next[task] as NextTask;
    const node = this.#graph.nodes.get(id) as GraphNode;
    const { host } = this.#env;
    let { endedCalls } = this.#env;
    for (let attempt = 1; ; attempt++) {
      // Checked in a loop: tasks that wake up together must not flood the log.
      while (host.isBehind) await host.ready();
      this.#assertNotAborted();
      if (this.#stop !== undefined) throw this.#stop;
      const { parts } = this.#env;
      const spec = { ns: this.#address.ns, step: this.#step + 1, task, input, endedCalls, parts };
      const run = new TaskRun(host, host.enter(id, this.#parent?.span.nodeId), spec, this.#parent);
      this.#running.add(run);
      let delay: number | undefined;
      try {
        let result = run.perform(() => this.#call(node, run), node.timeoutMs, this.#graph.graceMs);
        if (isPromiseLike(result)) result = await result;
        if (run.timeout !== undefined) throw run.timeout;
        while (host.isBehind) await host.ready();
        this.#finish(run, task, node, result, isAlone);
        return;
      } catch (thrown) {
        const error = run.timeout ?? thrown;
        const wasStopped = run.abortReason !== undefined && run.timeout === undefined;
        // Stops work that is still running for this attempt.
        run.abort(error, 0);
        if (run.hasOpenParts) await run.parts.stop(error, host.signal.aborted ? 0 : this.#graph.graceMs);
        void run.span.fail(error);
        if (run.isDone) throw error;
        if (run.span.hasAnswered || run.isUnretryable || run.hasUnretryableParts) this.isUnretryable = true;
        const mayRetry = !this.isUnretryable && this.#aborted === undefined && !host.signal.aborted;
        if (mayRetry && !wasStopped) delay = findRetryDelay(node.retry, attempt, error);
        if (delay === undefined) throw error;
      } finally {
        run.end();
        this.#running.delete(run);
        // Kept until the task is done: a finished subgraph must not run again because its output was rejected.
        if (run.isDone && node.child !== undefined) this.#env.children.delete(run.partPath);
      }
      if (run.span.endedCalls.size > 0) endedCalls = new Map([...endedCalls, ...run.span.endedCalls]);
      await this.#pause(delay);
    }
  }

  /** Waits before the next attempt. An abort ends the wait. */
  async #pause(ms: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter: Stoppable = { abort: reject };
    this.#running.add(waiter);
    const timer = setTimeout(resolve, ms);
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      this.#running.delete(waiter);
    }
  }

  #call(node: GraphNode, run: TaskRun): unknown {
    if (node.child === undefined) return node.run?.(this.#state.values, run);
    return this.#callChild(node.child, run);
  }

  async #callChild(definition: NonNullable<GraphNode["child"]>, run: TaskRun): Promise<unknown> {
    const { children, host } = this.#env;
    const path = run.partPath;
    const { values } = this.#state;
    const known = children.get(path);
    const child = known ?? new GraphRun(definition.graph, this.#env, path);
    run.child = child;
    // An abandoned attempt may still be ending.
    if (known !== undefined) await known.#settled;
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
      run.isUnretryable = child.isUnretryable;
    }
  }

  /** Writes the result of a task. */
  #finish(run: TaskRun, task: number, node: GraphNode, result: unknown, isAlone: boolean): void {
    const patch = this.#state.createPatch(result, `Node "${node.name}"`);
    const stored = this.#state.add(task, patch);
    const { isSilent } = this.#env.host;
    const before =
      isSilent === true ? [] : [...run.listEndings(), createUpdates(this.#address.ns, node.name, task, stored)];
    let after: readonly AnyEvent[] = [];
    try {
      if (isAlone) {
        this.#finished.add(task);
        // From here on the task is done even if an edge throws: the state has changed.
        run.isDone = true;
        after = this.#endStep();
      }
    } finally {
      if (isSilent !== true) run.span.commit({ before, after, areChecked: run.areChecked });
    }
    if (isAlone) return;
    run.isDone = true;
    this.#finished.add(task);
  }

  /** Merges the writes, determines the next tasks, and returns the events that record both. */
  #endStep(): readonly AnyEvent[] {
    const found = this.#state.endStep();
    if (found !== NO_CORRECTIONS) this.#corrections = { ...this.#corrections, ...found };
    const ended = this.#next;
    const next = this.#listTasks(ended.map(({ id }) => (this.#graph.nodes.get(id) as GraphNode).edge));
    const corrections = this.#corrections;
    this.#next = next;
    this.#step++;
    this.#finished.clear();
    this.#corrections = NO_CORRECTIONS;
    if (this.#address.ns === "") {
      this.#env.endedCalls = NO_CALLS;
      this.#env.parts.clear();
    }
    const { host } = this.#env;
    if (host.isSilent === true) return [];
    const checkpoint = createCheckpoint(this.#address, host.now(), this.#step, corrections, next, true);
    return this.#graph.values ? [createValues(this.#address.ns, corrections, true), checkpoint] : [checkpoint];
  }

  /** Returns the tasks that the edges request, in order. A node without an input is requested at most once. */
  #listTasks(edges: readonly GraphNode["edge"][]): readonly NextTask[] {
    const { values } = this.#state;
    const { nodes, maxTasks, name } = this.#graph;
    const tasks: NextTask[] = [];
    // At most as long as the graph has nodes.
    const plain: string[] = [];
    for (const edge of edges) {
      const targets = typeof edge === "function" ? edge(values) : edge;
      if (targets === END) continue;
      for (const target of listTargets(targets)) {
        const isPlain = typeof target === "string";
        const id = isPlain ? target : target?.node;
        if (id === END) continue;
        if (!nodes.has(id))
          throw new LoomError("graph_invalid", `An edge of "${name}" leads to "${id}", which is not a node`);
        const input = isPlain ? undefined : target.input;
        if (input !== undefined)
          tasks.push({ id, input: this.#state.detach(input, `The input of the edge to "${id}"`) });
        else if (!plain.includes(id)) {
          plain.push(id);
          tasks.push({ id });
        }
      }
    }
    if (tasks.length > maxTasks)
      throw new LoomError(
        "too_many_open",
        `A step of "${name}" has ${tasks.length} tasks; the maximum is ${maxTasks}`,
        { limit: maxTasks },
      );
    return tasks;
  }
}
