/**
 * Carries graphs out: within a run of the engine, whose log they can be resumed from, or by themselves. How it ends is for
 * the caller to say: a graph neither completes its run nor fails it.
 */
import type { ApprovalAnswer, ApprovalRequest } from "../engine/index.ts";
import { type AnyEvent, type GraphState, type Json, LoomError, type ToolEndEvent } from "../protocol/index.ts";
import type { Channels, Graph, StateOf, WritesOf } from "./graph.ts";
import type { NextTask } from "./graph-events.ts";
import { createLightHost, type GraphHost } from "./graph-host.ts";
import { type GraphEnvironment, GraphRun, NO_CALLS } from "./graph-run.ts";
import { Pacer } from "./pacer.ts";
import type { PartResults } from "./parts.ts";

export interface RunGraphOptions<C extends Channels> {
  /** The run that its events are written to: a `Run`. */
  readonly run: GraphHost;
  /** Written to the initial state; nothing when absent. */
  readonly input?: WritesOf<C>;
  /** Begin here instead: what a checkpoint of another run holds. */
  readonly from?: Snapshot;
  /** Stops it, as a failure would: nodes have their grace. The run's own signal stops it at once. */
  readonly signal?: AbortSignal | undefined;
}

/** A whole state, and the node runs that come next. */
export interface Snapshot {
  readonly state: Json;
  readonly next: readonly NextTask[];
}

/** Resolves to the last state; rejects with what a node threw, or `step_limit`, `node_timeout`, `node_failed`. */
export async function runGraph<C extends Channels>(
  graph: Graph<C>,
  { run, input, from, signal }: RunGraphOptions<C>,
): Promise<StateOf<C>> {
  run.signal.throwIfAborted();
  if (run.work?.checkpoint !== undefined)
    throw new LoomError("graph_invalid", `run ${run.runId} has had a graph, and carries out one`);
  if (run.isBehind) await run.ready();
  const root = new GraphRun(graph as unknown as Graph, createEnvironment(run), "");
  if (from === undefined) root.begin(input);
  else root.beginFrom(from.state, from.next);
  return (await carryOut(root, run, graph.graceMs, signal)) as StateOf<C>;
}

export interface InvokeOptions {
  readonly runId?: string;
  /** Stops it at once. */
  readonly signal?: AbortSignal;
  /** Told of every event; without it none are made. */
  readonly onEvent?: (event: AnyEvent, nodeId: string | undefined) => void;
  /** Answers the questions of nodes; without it they are refused as `unsupported`. */
  readonly onInterrupt?: (request: ApprovalRequest) => Promise<ApprovalAnswer>;
}

/** Runs a graph without a session and a log: nothing is kept. */
export async function invokeGraph<C extends Channels>(
  graph: Graph<C>,
  input?: WritesOf<C>,
  options: InvokeOptions = {},
): Promise<StateOf<C>> {
  return runGraph(graph, { run: createLightHost(options), ...(input === undefined ? {} : { input }) });
}

/** What a root and its subgraphs share. */
export function createEnvironment(
  host: GraphHost,
  endedCalls: ReadonlyMap<string, ToolEndEvent> = NO_CALLS,
  findStored: (ns: string) => GraphState | undefined = () => undefined,
  parts: PartResults = new Map(),
): GraphEnvironment {
  return { host, pacer: new Pacer(), endedCalls, findStored, children: new Map(), parts };
}

/** Runs the root to its end, and stops it with the signals. */
export async function carryOut(
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
