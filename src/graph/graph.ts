/**
 * What a graph is: channels that hold the state, nodes that change it, edges that say what comes next. Plain data and
 * functions; `run-graph.ts` carries it out. It knows no model and no tool.
 */
import type { NodeRun } from "../engine/index.ts";
import type { AnyEvent, Json, JsonObject, ToolEndEvent } from "../protocol/index.ts";

/** Where a graph ends. */
export const END = "__end__";

/**
 * How writes to a part of the state are merged. All values are JSON: they are stored. `kind` decides what is stored:
 * `append` and `merge` what was added, the others the whole value. What was written is given away: whoever changes it
 * afterwards changes what nobody stored.
 */
export interface Channel<Value, Write = Value> {
  readonly kind: "replace" | "append" | "merge" | "custom";
  readonly initial: Value;
  /** Of the kind `custom` only: the value after a write. It gives a new one and leaves both as they are. */
  reduce?(value: Value, write: Write): Value;
}

export interface Channels {
  // oxlint-disable-next-line typescript/no-explicit-any -- a graph holds channels of any type
  readonly [name: string]: Channel<any, any>;
}

/**
 * The state as a node is shown it: that of the beginning of its super-step. It must not be changed, and not be kept: the
 * lists in it grow. What is returned of it is copied, but for a list written to its own channel, which is refused.
 */
export type StateOf<C extends Channels> = {
  readonly [K in keyof C]: C[K] extends Channel<infer Value, infer _> ? Value : never;
};

/** What a node returns: writes to any of the channels. */
export type WritesOf<C extends Channels> = {
  readonly [K in keyof C]?: C[K] extends Channel<infer _, infer Write> ? Write : never;
};

/** A node run that an edge asks for. */
export interface Task<Name extends string = string> {
  readonly node: Name;
  /** What it is given beside the state. */
  readonly input?: Json;
}

/** Work that is done once, and what is written of it. A node run is one, and may be made of others. */
export interface Part {
  /** The span to write through: `span.emit`, `span.write`, `span.think`. */
  readonly span: NodeRun;
  /** Writes an event in the same append as the result: they are there together, or neither is. */
  conclude(event: AnyEvent): void;
  /**
   * Does a part of the work once: after a restart, and when the node is tried again, what it gave is given again, and
   * nothing of it is written a second time. Parts may run side by side, each with its own key.
   */
  once<T extends Json>(key: string, work: (part: Part) => Promise<T> | T, options?: OnceOptions<T>): Promise<T>;
  /** Whether a part has its result, or is being worked on: `once` costs nothing then. */
  has(key: string): boolean;
  /**
   * Asks the user and waits, durably: after a restart the node or the part begins anew and is given the answer that came
   * meanwhile. Each asks in the same order every time. While parts are going, questions are asked in them.
   */
  interrupt(question: JsonObject, options?: { readonly expiresInMs?: number }): Promise<InterruptAnswer>;
}

export interface OnceOptions<T> {
  /** A node run of this name is opened around the part, and ends with it. Otherwise it belongs to the one around it. */
  readonly name?: string | undefined;
  /** What a failure gives instead; it is kept like any result. Where it gives undefined, the failure is thrown. */
  readonly recover?: ((error: unknown, part: Part) => T | undefined) | undefined;
}

export interface NodeContext extends Part {
  /** Of the graph's run. */
  readonly runId: string;
  readonly step: number;
  /** Its place in the super-step. */
  readonly task: number;
  /** Its place in the run: no other node run has the same, and after a restart it is the same. For ids of calls. */
  readonly path: string;
  /** From `fanOut`; undefined otherwise. */
  readonly input: Json | undefined;
  /** Aborted when the run ends, when a sibling has failed, and when the node has run out of time. */
  readonly signal: AbortSignal;
  /** Something of the application's own, as an event `custom`. */
  custom(value: Json): void;
  /** Resolves when the log has room. */
  ready(): Promise<void>;
  /** Tool calls that ended since this step began, before the process died: they are not to be made again. */
  readonly endedCalls: ReadonlyMap<string, ToolEndEvent>;
}

export interface InterruptAnswer {
  readonly decision: "approved" | "rejected" | "expired";
  /** What the user gave with the answer; the question itself when nothing was edited. */
  readonly value: JsonObject;
  readonly reason?: string;
}

export interface RetryPolicy {
  /** Tries in all, the first included. Nothing is tried again after its first answer text. */
  readonly attempts: number;
  readonly delayMs?: number;
  readonly factor?: number;
  readonly maxDelayMs?: number;
  /** Any error but a cancel when absent. */
  readonly when?: (error: unknown) => boolean;
}

export interface NodeOptions {
  /** Code `node_timeout`. Time in which the user is asked does not count, in a subgraph neither. */
  readonly timeoutMs?: number;
  readonly retry?: RetryPolicy;
}

export type NodeFunction<State, Writes> = (state: State, node: NodeContext) => Promise<Writes | void> | Writes | void;

/** A node that is more than its function. */
export interface NodeDefinition<State, Writes> extends NodeOptions {
  readonly run: NodeFunction<State, Writes>;
}

export type Target<Name extends string> = Name | typeof END | Task<Name>;

export type Targets<Name extends string> = Target<Name> | readonly Target<Name>[];

/** What comes after a node: always the same, or what a function of the merged state says. */
export type Edge<State, Name extends string> = Targets<Name> | ((state: State) => Targets<Name>);

/** A node that is a graph with a state of its own; made by `subgraph`. */
export interface SubgraphDefinition<State, Writes> extends NodeOptions {
  readonly graph: Graph;
  /** What the child's run begins with. */
  // oxlint-disable-next-line typescript/no-explicit-any -- the child's channels were checked by `subgraph`
  readonly input: (state: State, node: Pick<NodeContext, "input" | "step" | "task">) => any;
  /** What of its last state is written to the parent's. */
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  readonly output: (child: any, state: State) => Writes | void;
}

export type AnyNode<State, Writes> =
  | NodeFunction<State, Writes>
  | NodeDefinition<State, Writes>
  | SubgraphDefinition<State, Writes>;

export interface GraphLimits {
  /** Super-steps; code `step_limit`. */
  readonly maxSteps?: number;
  /** Node runs of one super-step; code `too_many_open`. */
  readonly maxTasks?: number;
  /** Node runs of one super-step that go at once; the others wait for their turn. */
  readonly concurrency?: number;
  /** How long a node that was aborted may take to end by itself. Then it is left behind. */
  readonly graceMs?: number;
}

export interface GraphDefinition<C extends Channels, Name extends string> extends GraphLimits {
  readonly name: string;
  readonly channels: C;
  readonly nodes: { readonly [K in Name]: AnyNode<StateOf<C>, WritesOf<C>> };
  /** A node without an edge leads to `END`. */
  readonly edges?: { readonly [K in NoInfer<Name>]?: Edge<StateOf<C>, NoInfer<Name>> };
  readonly start: Edge<StateOf<C>, NoInfer<Name>>;
  /** False: no `values` events, only `updates` and `checkpoint`. */
  readonly values?: boolean;
}

/** A graph that was found right; made by `defineGraph`. */
export interface Graph<C extends Channels = Channels, Name extends string = string> extends Required<GraphLimits> {
  readonly name: string;
  readonly channels: C;
  readonly nodes: ReadonlyMap<string, GraphNode>;
  readonly start: Edge<StateOf<C>, Name>;
  readonly values: boolean;
  /** Graphs one within the other: 1 without a subgraph. */
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
