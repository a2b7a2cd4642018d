/**
 * Makes graphs, and refuses those that could not be carried out: what is wrong is said when a graph is defined, not when
 * a run comes to it. It runs nothing.
 */
import { isPlainJson } from "../engine/plain-json.ts";
import { LoomError } from "../protocol/index.ts";
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
  type Targets,
  type Task,
  type WritesOf,
} from "./graph.ts";

const LIMITS = { maxSteps: 1000, maxTasks: 10_000, concurrency: 100, graceMs: 5000 };

/** Characters of a node's name, and graphs one within the other: the path of a subgraph must fit into an id. */
const MAX_NODE_NAME = 64;
const MAX_DEPTH = 8;

/** The longest a timer can run. */
const MAX_MS = 2 ** 31 - 1;

/** A graph of these channels, nodes and edges; `graph_invalid` says what is wrong with it, and where. */
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
  if (names.size === 0) throw invalid("nodes", "a graph needs a node");
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
  if (depth > MAX_DEPTH) throw invalid("nodes", `subgraphs are nested ${depth} deep, ${MAX_DEPTH} is the most`);
  return { name, channels, nodes: made, start, values, depth, ...limits };
}

export interface SubgraphMapping<C extends Channels, State, Writes> extends NodeOptions {
  /** What the child's run begins with; nothing when absent. */
  readonly input?: (state: State, node: Pick<NodeContext, "input" | "step" | "task">) => WritesOf<C>;
  /** What of its last state is written to the parent's; nothing when absent. */
  readonly output?: (child: StateOf<C>, state: State) => Writes | void;
}

/**
 * A graph as a node of another. Its state is its own; what goes in and comes out is said here. A mapping that looks at the
 * parent's state names its type: `(state: StateOf<typeof channels>) => …`.
 */
export function subgraph<C extends Channels, Name extends string, State = unknown, Writes = never>(
  graph: Graph<C, Name>,
  { input = () => ({}), output = () => undefined, ...options }: SubgraphMapping<C, State, Writes> = {},
): SubgraphDefinition<State, Writes> {
  return { ...options, graph: graph as unknown as Graph, input, output };
}

/**
 * A node run for each item of a list, side by side; each is given its item as `node.input`. Of no items there is none, and
 * nothing comes after: `otherwise` says where to go then.
 */
export function fanOut<Name extends string, const Other extends string = never>(
  node: Name,
  items: readonly unknown[],
  { otherwise }: { readonly otherwise?: Other } = {},
): readonly Task<Name | Other>[] {
  if (items.length === 0 && otherwise !== undefined) return [{ node: otherwise }];
  return items.map((input) => ({ node, input: (input ?? null) as NonNullable<Task["input"]> }));
}

/** The targets of an edge as a list. */
export function listTargets<Name extends string>(targets: Targets<Name>): readonly (Name | typeof END | Task<Name>)[] {
  return Array.isArray(targets) ? (targets as readonly (Name | Task<Name>)[]) : [targets as Name | Task<Name>];
}

function checkChannels(channels: Channels): void {
  for (const [name, channel] of Object.entries(channels)) {
    const path = `channels.${name}`;
    if (name === "__proto__" || name === "") throw invalid(path, "a channel needs another name");
    const { kind } = channel;
    const initial: unknown = channel.initial;
    if (!isPlainJson(initial)) throw invalid(path, "the initial value must be JSON");
    if (kind === "append" && !Array.isArray(initial)) throw invalid(path, "the initial value must be a list");
    if (kind === "merge" && (typeof initial !== "object" || initial === null || Array.isArray(initial)))
      throw invalid(path, "the initial value must be an object");
    if (kind === "custom" && typeof channel.reduce !== "function") throw invalid(path, "it needs a reducer");
    if (!["replace", "append", "merge", "custom"].includes(kind)) throw invalid(path, "it is of no known kind");
  }
}

/** Only what was said: a node may have the name of something that every object has. */
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
    throw invalid(path, `a node's name has 1 to ${MAX_NODE_NAME} characters, none of them a space, \`:\` or \`|\``);
  if (typeof given === "function") return { name, run: given, child: undefined, edge };
  if (typeof given !== "object" || given === null) throw invalid(path, "a node is a function or has one as `run`");
  const { timeoutMs, retry } = given;
  if (timeoutMs !== undefined) assertNumber(`${path}.timeoutMs`, timeoutMs, 1, MAX_MS);
  if (retry !== undefined) {
    assertNumber(`${path}.retry.attempts`, retry.attempts, 1);
    for (const field of ["delayMs", "maxDelayMs"] as const)
      if (retry[field] !== undefined) assertNumber(`${path}.retry.${field}`, retry[field], 0, MAX_MS);
    const { factor = 1 } = retry;
    if (!(factor >= 1)) throw invalid(`${path}.retry.factor`, "it must be a number from 1 on");
  }
  const options = { ...(timeoutMs === undefined ? {} : { timeoutMs }), ...(retry === undefined ? {} : { retry }) };
  if ("graph" in given) return { name, run: undefined, child: given, edge, ...options };
  if (typeof given.run !== "function") throw invalid(path, "a node is a function or has one as `run`");
  return { name, run: given.run, child: undefined, edge, ...options };
}

function assertNumber(path: string, value: number, least: number, most = Number.MAX_SAFE_INTEGER): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw invalid(path, `it must be a whole number from ${least} on`);
}

function invalid(path: string, message: string): LoomError {
  return new LoomError("graph_invalid", `\`${path}\`: ${message}`, { path });
}
