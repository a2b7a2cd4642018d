/**
 * Defines graphs and validates them, so that errors appear when a graph is defined rather than when it runs. It runs
 * nothing.
 */
import { dropUndefined } from "../protocol/drop-undefined.ts";
import { LoomError } from "../protocol/index.ts";
import { isPlainJson } from "../protocol/json.ts";
import {
  type AnyNode,
  type Channels,
  END,
  type Edge,
  type Graph,
  type GraphDefinition,
  type GraphNode,
  type NodeContext,
  type NodeOptions,
  type StateOf,
  type SubgraphDefinition,
  type EdgeTargets,
  type GraphTask,
  type WritesOf,
} from "./graph.ts";
import { MAX_TIMER_MS } from "../protocol/limit-timer.ts";

const LIMITS = { maxSteps: 1000, maxTasks: 10_000, concurrency: 100, graceMs: 5000 };

/** Maximum characters of a node name, and maximum nesting of graphs. The path of a subgraph must fit into an ID. */
const MAX_NODE_NAME = 64;
const MAX_DEPTH = 8;

/**
 * Defines a graph: channels hold the state, nodes read it and return writes, edges choose the next nodes. Throws
 * `graph_invalid` with the path of the invalid part.
 *
 * ```ts
 * const graph = defineGraph({
 *   name: "greeter",
 *   channels: { name: replace(""), lines: append<string>() },
 *   nodes: { greet: ({ name }) => ({ lines: [`Hello ${name}`] }) },
 *   start: "greet",
 * });
 * const { lines } = await invokeGraph(graph, { name: "Mei" });
 * ```
 */
export function defineGraph<const C extends Channels, Name extends string>(
  definition: GraphDefinition<C, Name>,
): Graph<C, Name> {
  const { name, channels, nodes, edges = {}, start, values = true } = definition;
  const limits = { ...LIMITS };
  if (typeof name !== "string" || name === "") throw invalid("name", "a graph needs a name");
  for (const limit of ["maxSteps", "maxTasks", "concurrency", "graceMs"] as const) {
    const given = definition[limit];
    if (given === undefined) continue;
    limits[limit] = assertNumber(limit, given, limit === "graceMs" ? 0 : 1);
  }
  checkChannels(channels);
  const names = new Set(Object.keys(nodes));
  if (names.size === 0) throw invalid("nodes", "a graph needs at least one node");
  for (const from of Object.keys(edges))
    if (!names.has(from)) throw invalid(`edges.${from}`, `there is no node "${from}"`);
  checkEdge("start", start, names);
  const made = new Map<string, GraphNode>();
  let depth = 1;
  for (const [node, given] of Object.entries<AnyNode<StateOf<C>, WritesOf<C>>>(nodes)) {
    const edge = findEdge<StateOf<C>>(edges, node);
    checkEdge(`edges.${node}`, edge, names);
    const compiled = readNode(node, given, edge);
    depth = Math.max(depth, 1 + (compiled.child?.graph.depth ?? 0));
    made.set(node, compiled);
  }
  if (depth > MAX_DEPTH)
    throw invalid("nodes", `subgraphs are nested ${depth} levels deep; the maximum is ${MAX_DEPTH}`);
  return { name, channels, nodes: made, start, values, depth, ...limits };
}

/** Maps between the state of a parent graph and that of a subgraph. */
export interface SubgraphMapping<C extends Channels, State, Writes> extends NodeOptions {
  /** Writes that the child graph starts with. Default: none. */
  readonly input?: (state: State, node: Pick<NodeContext, "input" | "step" | "task">) => WritesOf<C>;
  /** Writes to the parent's state, from the last state of the child. Default: none. */
  readonly output?: (child: StateOf<C>, state: State) => Writes | void;
}

/**
 * Makes a graph a node of another graph. The child has its own state; `input` and `output` map between the two. A
 * mapping that uses the parent's state must name its type: `(state: StateOf<typeof channels>) => …`.
 *
 * ```ts
 * const nodes = { greet: subgraph(shout, { output: ({ text }) => ({ greeting: text }) }) };
 * ```
 */
export function subgraph<C extends Channels, Name extends string, State = unknown, Writes = never>(
  graph: Graph<C, Name>,
  { input = () => ({}), output = () => undefined, ...options }: SubgraphMapping<C, State, Writes> = {},
): SubgraphDefinition<State, Writes> {
  return { ...options, graph: graph as unknown as Graph, input, output };
}

/**
 * Returns one task per item, for an edge. The tasks run in parallel, each with its item as `node.input`. If there are
 * no items, the edge leads to `otherwise`, or nowhere.
 */
export function fanOut<Name extends string, const Other extends string = never>(
  node: Name,
  items: readonly unknown[],
  { otherwise }: { readonly otherwise?: Other } = {},
): readonly GraphTask<Name | Other>[] {
  if (items.length === 0 && otherwise !== undefined) return [{ node: otherwise }];
  return items.map((input) => ({ node, input: (input ?? null) as NonNullable<GraphTask["input"]> }));
}

/** Returns the targets of an edge as a list. */
export function listTargets<Name extends string>(
  targets: EdgeTargets<Name>,
): readonly (Name | typeof END | GraphTask<Name>)[] {
  return Array.isArray(targets)
    ? (targets as readonly (Name | GraphTask<Name>)[])
    : [targets as Name | GraphTask<Name>];
}

function checkChannels(channels: Channels): void {
  for (const [name, channel] of Object.entries(channels)) {
    const path = `channels.${name}`;
    if (name === "__proto__" || name === "") throw invalid(path, "a channel name must not be empty or `__proto__`");
    if (!name.isWellFormed()) throw invalid(path, "a channel name must not have an unpaired surrogate");
    const { kind } = channel;
    const initial: unknown = channel.initial;
    if (!isPlainJson(initial)) throw invalid(path, "the initial value must be plain JSON");
    if (kind === "append" && !Array.isArray(initial)) throw invalid(path, "the initial value must be a list");
    if (kind === "merge" && (typeof initial !== "object" || initial === null || Array.isArray(initial)))
      throw invalid(path, "the initial value must be an object");
    if (kind === "custom" && typeof channel.reduce !== "function")
      throw invalid(path, "a custom channel needs a reducer");
    if (!["replace", "append", "merge", "custom"].includes(kind))
      throw invalid(path, "the kind must be replace, append, merge or custom");
  }
}

/** Only own properties count: a node may be named like a property of `Object.prototype`. */
function findEdge<State>(edges: object, node: string): Edge<State, string> {
  const known = edges as { readonly [node: string]: Edge<State, string> | undefined };
  return (Object.hasOwn(edges, node) ? known[node] : undefined) ?? END;
}

function checkEdge<State>(path: string, edge: Edge<State, string>, names: ReadonlySet<string>): void {
  if (typeof edge === "function") return;
  for (const target of listTargets(edge)) {
    const name = typeof target === "object" && target !== null ? target.node : target;
    if (name !== END && !names.has(name)) throw invalid(path, `there is no node "${name}"`);
  }
}

function readNode<State, Writes>(name: string, given: AnyNode<State, Writes>, edge: Edge<State, string>): GraphNode {
  const path = `nodes.${name}`;
  if (name === END || name.length > MAX_NODE_NAME || !/^[^:|\s]+$/.test(name))
    throw invalid(path, `a node name has 1 to ${MAX_NODE_NAME} characters, without spaces, \`:\` and \`|\``);
  if (typeof given === "function") return { name, run: given, child: undefined, edge };
  if (typeof given !== "object" || given === null)
    throw invalid(path, "a node must be a function, or an object with a function `run`");
  const { timeoutMs, retry } = given;
  if (timeoutMs !== undefined) assertNumber(`${path}.timeoutMs`, timeoutMs, 1, MAX_TIMER_MS);
  if (retry !== undefined) {
    assertNumber(`${path}.retry.attempts`, retry.attempts, 1);
    for (const field of ["delayMs", "maxDelayMs"] as const)
      if (retry[field] !== undefined) assertNumber(`${path}.retry.${field}`, retry[field], 0, MAX_TIMER_MS);
    const { factor = 1 } = retry;
    if (!(factor >= 1)) throw invalid(`${path}.retry.factor`, "the factor must be a number of at least 1");
  }
  const options = dropUndefined({ timeoutMs, retry });
  if ("graph" in given) return { name, run: undefined, child: given, edge, ...options };
  if (typeof given.run !== "function")
    throw invalid(path, "a node must be a function, or an object with a function `run`");
  return { name, run: given.run, child: undefined, edge, ...options };
}

function assertNumber(path: string, value: number, least: number, most = Number.MAX_SAFE_INTEGER): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw invalid(path, `the value must be an integer from ${least} to ${most}`);
}

function invalid(path: string, message: string): LoomError {
  return new LoomError("graph_invalid", `\`${path}\`: ${message}`, { path });
}
