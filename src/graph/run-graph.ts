/**
 * Runs graphs: in a run of the engine, from whose log they can be resumed, or standalone. A graph neither completes nor
 * fails its run; the caller does.
 */
import type { ApprovalAnswer, ApprovalRequest } from "../engine/index.ts";
import { type AnyEvent, type GraphState, type Json, LoomError } from "../protocol/index.ts";
import type { ToolEndEvent } from "../protocol/events.generated.ts";
import type { Channels, Graph, StateOf, WritesOf } from "./graph.ts";
import type { NextTask } from "./graph-events.ts";
import { createStandaloneHost, type GraphHost } from "./graph-host.ts";
import { type GraphEnvironment, GraphRun, NO_CALLS } from "./graph-run.ts";
import { Pacer } from "./pacer.ts";
import type { PartResults } from "./parts.ts";

/** Options of `runGraph`. */
export interface RunGraphOptions<C extends Channels> {
  /** The run to write events to: a `Run` of the engine. */
  readonly run: GraphHost;
  /** Writes to the initial state. Default: none. */
  readonly input?: WritesOf<C>;
  /** Start from a checkpoint of another run instead of `input`. */
  readonly from?: Snapshot;
  /** Stops the graph; running nodes get the grace period. The signal of the run itself stops it at once. */
  readonly signal?: AbortSignal | undefined;
}

/** A full state and the tasks that come next. */
export interface Snapshot {
  readonly state: Json;
  readonly next: readonly NextTask[];
}

/**
 * Runs a graph in a run. Resolves to the last state. Rejects with the error of a node, or with `step_limit`,
 * `node_timeout` or `node_failed`.
 *
 * ```ts
 * const run = await session.startRun({ message });
 * const state = await runGraph(graph, { run, input: { message } });
 * await run.finish({ reply: state.answer });
 * ```
 */
export async function runGraph<C extends Channels>(
  graph: Graph<C>,
  { run, input, from, signal }: RunGraphOptions<C>,
): Promise<StateOf<C>> {
  run.signal.throwIfAborted();
  if (run.work?.checkpoint !== undefined)
    throw new LoomError("graph_invalid", `Run "${run.runId}" already has a graph; start another run`);
  if (run.isBehind) await run.ready();
  const root = new GraphRun(graph as unknown as Graph, createEnvironment(run), "");
  if (from === undefined) root.begin(input);
  else root.beginFrom(from.state, from.next);
  return (await runRoot(root, run, graph.graceMs, signal)) as StateOf<C>;
}

/** Options of `invokeGraph`. */
export interface InvokeOptions {
  /** Run ID that nodes see. Default: "run". */
  readonly runId?: string;
  /** Stops the graph at once. */
  readonly signal?: AbortSignal;
  /** Called for every event. Without it, no events are created. */
  readonly onEvent?: (event: AnyEvent, nodeId: string | undefined) => void;
  /** Answers the questions of nodes. Without it, they throw `unsupported`. */
  readonly onInterrupt?: (request: ApprovalRequest) => Promise<ApprovalAnswer>;
}

/**
 * Runs a graph without a session. Resolves to the last state and rejects like `runGraph`. Nothing is stored, so it cannot
 * be resumed.
 */
export async function invokeGraph<C extends Channels>(
  graph: Graph<C>,
  input?: WritesOf<C>,
  options: InvokeOptions = {},
): Promise<StateOf<C>> {
  return runGraph(graph, { run: createStandaloneHost(options), ...(input === undefined ? {} : { input }) });
}

/** Creates the environment that a root shares with its subgraphs. */
export function createEnvironment(
  host: GraphHost,
  endedCalls: ReadonlyMap<string, ToolEndEvent> = NO_CALLS,
  findStored: (ns: string) => GraphState | undefined = () => undefined,
  parts: PartResults = new Map(),
): GraphEnvironment {
  return { host, pacer: new Pacer(), endedCalls, findStored, children: new Map(), parts };
}

/** Runs the root to its end, and stops it when a signal aborts. */
export async function runRoot(
  root: GraphRun,
  host: GraphHost,
  graceMs: number,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  const leave = (): void => root.abort(host.signal.reason, 0);
  const stop = (): void => root.abort(signal?.reason, graceMs);
  host.signal.addEventListener("abort", leave, { once: true });
  signal?.addEventListener("abort", stop, { once: true });
  try {
    signal?.throwIfAborted();
    return await root.run();
  } finally {
    host.signal.removeEventListener("abort", leave);
    signal?.removeEventListener("abort", stop);
  }
}
