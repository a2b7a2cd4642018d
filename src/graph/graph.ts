/**
 * The parts of a graph: channels hold the state, nodes change it, edges choose the next nodes. Plain data and
 * functions; `run-graph.ts` executes them, and `state-patch` of the protocol defines how writes to channels are stored.
 * It knows no models and no tools.
 */
import type { NodeRun } from "../engine/index.ts";
import type { AnyEvent, Json, JsonObject } from "../protocol/index.ts";
import type { ToolEndEvent } from "../protocol/events.generated.ts";

/** The target of an edge that ends the graph. */
export const END = "__end__";

/**
 * A part of the state, and how writes to it are merged. All values must be JSON, because they are stored. `append` and
 * `merge` channels store what was added; the others store the whole value. Do not modify a value after writing it.
 */
export interface Channel<Value, Write = Value> {
  readonly kind: "replace" | "append" | "merge" | "custom";
  readonly initial: Value;
  /** For `custom` channels: returns the value after a write. It must not modify its arguments. */
  reduce?(value: Value, write: Write): Value;
}

/** A channel with one value. A write replaces it. */
export function replace<T>(initial: T): Channel<T> {
  return { kind: "replace", initial };
}

/** A channel with a list. A write is a list of items that are added at the end. */
export function append<T>(initial: readonly T[] = []): Channel<readonly T[]> {
  return { kind: "append", initial };
}

/**
 * A channel with an object. A write is an object whose entries are added or replaced.
 *
 * ```ts
 * const channels = { scores: merge<number>() }; // a node returns { scores: { ann: 3 } }
 * ```
 */
export function merge<T>(initial: { readonly [key: string]: T } = {}): Channel<{ readonly [key: string]: T }> {
  return { kind: "merge", initial };
}

/**
 * A channel with any value and a reducer. The reducer returns the value after a write, and must not modify its
 * arguments.
 *
 * ```ts
 * const channels = { total: custom(0, (sum, added: number) => sum + added) };
 * ```
 */
export function custom<Value, Write = Value>(
  initial: Value,
  reduce: (value: Value, write: Write) => Value,
): Channel<Value, Write> {
  return { kind: "custom", initial, reduce };
}

/** The channels of a graph by name. */
export interface Channels {
  // oxlint-disable-next-line typescript/no-explicit-any -- a graph holds channels of any type
  readonly [name: string]: Channel<any, any>;
}

/**
 * The state that a node reads, as of the start of its super-step. Do not modify or keep it: its lists grow later.
 * Values that a node returns from it are copied, except that returning a list to its own channel throws
 * `graph_invalid`.
 */
export type StateOf<C extends Channels> = {
  readonly [K in keyof C]: C[K] extends Channel<infer Value, infer _> ? Value : never;
};

/** What a node returns: writes to any of the channels. */
export type WritesOf<C extends Channels> = {
  readonly [K in keyof C]?: C[K] extends Channel<infer _, infer Write> ? Write : never;
};

/** A node run that an edge requests. */
export interface GraphTask<Name extends string = string> {
  readonly node: Name;
  /** Passed to the node as `node.input`. */
  readonly input?: Json;
}

/** The context of a unit of work that is done once. A node run is one, and may be divided into parts with `once`. */
export interface PartContext {
  /** The node run to write through: `span.emit`, `span.write`, `span.think`. */
  readonly span: NodeRun;
  /** Writes an event in the same append as the result, so that either both are stored or neither. */
  emitWithResult(event: AnyEvent): void;
  /**
   * Runs a part of the work once and returns its result. After a restart, or when the node is retried, it returns the
   * stored result and writes nothing again. Parts may run in parallel, each with its own key.
   */
  once<T extends Json>(key: string, work: (part: PartContext) => Promise<T> | T, options?: OnceOptions<T>): Promise<T>;
  /** True if the part has a result or is running, so that `once` starts no work. */
  has(key: string): boolean;
  /**
   * Asks the user and waits for the answer. The question is stored: after a restart, the node or part runs again from
   * its start and gets the answer given meanwhile. It must therefore ask its questions in the same order every time.
   * While parts are running, only parts may ask.
   */
  interrupt(question: JsonObject, options?: { readonly expiresInMs?: number }): Promise<InterruptAnswer>;
}

/** Options of `PartContext.once`. */
export interface OnceOptions<T> {
  /** Opens a node run with this name for the part. Default: the part belongs to the surrounding node run. */
  readonly name?: string | undefined;
  /**
   * Returns a result in place of a failure, which is stored like any result. If it returns undefined, the failure is
   * thrown.
   */
  readonly recover?: ((error: unknown, part: PartContext) => T | undefined) | undefined;
}

/** The context of a node run: the second argument of a node function. */
export interface NodeContext extends PartContext {
  /** ID of the graph's run. */
  readonly runId: string;
  /** Number of the super-step, starting with 1. */
  readonly step: number;
  /** Index of the task in its super-step. */
  readonly task: number;
  /** Identifies the task within the run, also after a restart. Use it to build IDs of calls. */
  readonly path: string;
  /** The item of `fanOut`, if there is one. */
  readonly input: Json | undefined;
  /** Aborted when the run ends, another task of the super-step fails, or the node times out. */
  readonly signal: AbortSignal;
  /** Emits application data as a `custom` event. */
  custom(value: Json): void;
  /** Resolves when the log has room for more events. */
  ready(): Promise<void>;
  /** Tool calls of this step that ended in an earlier attempt or before a restart. Do not make them again. */
  readonly endedCalls: ReadonlyMap<string, ToolEndEvent>;
}

/** The user's answer to an interrupt. */
export interface InterruptAnswer {
  readonly decision: "approved" | "rejected" | "expired";
  /** The value the user gave with the answer; by default, the question itself. */
  readonly value: JsonObject;
  readonly reason?: string;
}

/** When and how often a failed node is retried. */
export interface RetryPolicy {
  /** Number of attempts, including the first. A node that sent answer text is not retried. */
  readonly attempts: number;
  /** Milliseconds before the second attempt. Default: 100. */
  readonly delayMs?: number;
  /** Factor by which each further delay grows. Default: 2. */
  readonly factor?: number;
  /** Maximum delay in milliseconds. Default: 30,000. */
  readonly maxDelayMs?: number;
  /**
   * Decides whether to retry after an error. Default: always. A cancel and errors that a retry cannot fix are never
   * retried.
   */
  readonly when?: (error: unknown) => boolean;
}

/** Options of a node. */
export interface NodeOptions {
  /**
   * Milliseconds until the node fails with `node_timeout`. Time spent waiting for the user does not count, not even in
   * a subgraph. Default: no timeout.
   */
  readonly timeoutMs?: number;
  /** When and how often the node is retried. Default: no retries. */
  readonly retry?: RetryPolicy;
}

/** A node: reads the state and returns writes to channels. It must not modify the state. */
export type NodeFunction<State, Writes> = (state: State, node: NodeContext) => Promise<Writes | void> | Writes | void;

/** A node with options. */
export interface NodeDefinition<State, Writes> extends NodeOptions {
  /** The node function. */
  readonly run: NodeFunction<State, Writes>;
}

/** A node name, `END`, or a task with an input. */
export type EdgeTarget<Name extends string> = Name | typeof END | GraphTask<Name>;

/** One target or several, which run in parallel. */
export type EdgeTargets<Name extends string> = EdgeTarget<Name> | readonly EdgeTarget<Name>[];

/** What follows a node: fixed targets, or a function of the merged state. */
export type Edge<State, Name extends string> = EdgeTargets<Name> | ((state: State) => EdgeTargets<Name>);

/** A node that is a graph with its own state; created by `subgraph`. */
export interface SubgraphDefinition<State, Writes> extends NodeOptions {
  readonly graph: Graph;
  /** Writes that the child graph starts with. */
  // oxlint-disable-next-line typescript/no-explicit-any -- the child's channels were checked by `subgraph`
  readonly input: (state: State, node: Pick<NodeContext, "input" | "step" | "task">) => any;
  /** Writes to the parent's state, from the last state of the child. */
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  readonly output: (child: any, state: State) => Writes | void;
}

/** Anything that `defineGraph` accepts as a node. */
export type AnyNode<State, Writes> =
  | NodeFunction<State, Writes>
  | NodeDefinition<State, Writes>
  | SubgraphDefinition<State, Writes>;

/** Limits of a graph. */
export interface GraphLimits {
  /** Maximum super-steps; code `step_limit`. Default: 1000. */
  readonly maxSteps?: number;
  /** Maximum tasks of one super-step; code `too_many_open`. Default: 10,000. */
  readonly maxTasks?: number;
  /** Tasks that run at the same time; the others wait. Default: 100. */
  readonly concurrency?: number;
  /** Milliseconds that an aborted node may take to end; then it is abandoned. Default: 5000. */
  readonly graceMs?: number;
}

/** The argument of `defineGraph`. */
export interface GraphDefinition<C extends Channels, Name extends string> extends GraphLimits {
  /** Name of the graph, for messages. */
  readonly name: string;
  /** The channels by name. */
  readonly channels: C;
  /** The nodes by name. A name has 1 to 64 characters, without spaces, `:` and `|`. */
  readonly nodes: { readonly [K in Name]: AnyNode<StateOf<C>, WritesOf<C>> };
  /** What follows each node. Default: `END`. */
  readonly edges?: { readonly [K in NoInfer<Name>]?: Edge<StateOf<C>, NoInfer<Name>> };
  /** The first nodes to run. */
  readonly start: Edge<StateOf<C>, NoInfer<Name>>;
  /** Set to false to write no `values` events, only `updates` and `checkpoint`. Default: true. */
  readonly values?: boolean;
}

/** A valid graph; created by `defineGraph`. */
export interface Graph<C extends Channels = Channels, Name extends string = string> extends Required<GraphLimits> {
  readonly name: string;
  readonly channels: C;
  readonly nodes: ReadonlyMap<string, GraphNode>;
  readonly start: Edge<StateOf<C>, Name>;
  readonly values: boolean;
  /** Levels of nested graphs; 1 without a subgraph. */
  readonly depth: number;
}

// oxlint-disable typescript/no-explicit-any -- a graph's channels decide the types, and its nodes were checked against them
export interface GraphNode extends NodeOptions {
  readonly name: string;
  readonly run: NodeFunction<any, any> | undefined;
  readonly child: SubgraphDefinition<any, any> | undefined;
  readonly edge: Edge<any, string>;
}
// oxlint-enable typescript/no-explicit-any
