/**
 * Runs graphs: in a run of the engine, from whose log they can be resumed, or standalone. A graph neither completes nor
 * fails its run; the caller does. A graph is resumed from its last checkpoint and the tasks that finished after it; the
 * engine's recovery has decided before that the run may be resumed.
 */
import type { DeadRun } from "../engine/index.ts";
import { followRecords } from "../log/follow-records.ts";
import type { Log } from "../log/log.ts";
import { LoomError, StateFold } from "../protocol/index.ts";
import type { ToolEndEvent } from "../protocol/events.generated.ts";
import type { Channels, Graph, StateOf, WritesOf } from "./graph.ts";
import { createStandaloneHost, type GraphHost, type InvokeOptions } from "./graph-host.ts";
import { type GraphEnvironment, GraphRun, NO_CALLS, Pacer } from "./graph-run.ts";
import { type PartResults, readPartResult } from "./parts.ts";

/** Maximum subgraphs in one super-step of the root of a graph that is resumed. */
const MAX_SUBGRAPHS = 1_000_000;

/** Options of `runGraph`. */
export interface RunGraphOptions<C extends Channels> {
  /** The run to write events to: a `Run` of the engine. */
  readonly run: GraphHost;
  /** Writes to the initial state. Default: none. */
  readonly input?: WritesOf<C>;
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
  { run, input }: RunGraphOptions<C>,
): Promise<StateOf<C>> {
  run.signal.throwIfAborted();
  if (run.work?.checkpoint !== undefined)
    throw new LoomError("graph_invalid", `Run "${run.runId}" already has a graph; start another run`);
  if (run.isBehind) await run.ready();
  const root = createRoot(graph, run);
  root.begin(input);
  return (await runRoot(root, run)) as StateOf<C>;
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

/** Options of `resumeGraph`. */
export interface ResumeOptions {
  /** The log that has the run. */
  readonly log: Log;
}

/**
 * Resumes a graph in a run whose process died. Resolves to the last state, like `runGraph`.
 *
 * Finished tasks are not run again. Other tasks are run again from their start and find the tool calls that had ended
 * in `endedCalls`. Rejects with `graph_changed` if the graph no longer fits the log.
 *
 * ```ts
 * const session = await openSession(log, sessionId, {
 *   resume: async (dead) => void (await resumeGraph(graph, dead, { log })),
 * });
 * ```
 */
export async function resumeGraph<C extends Channels>(
  graph: Graph<C>,
  { run }: Pick<DeadRun, "run">,
  { log }: ResumeOptions,
): Promise<StateOf<C>> {
  // The records that recovery wrote must be read too.
  await run.settled();
  const { states, ...found } = await readStoredGraph(log, run.sessionId, run.runId);
  const stored = states.find();
  if (stored === undefined) throw new LoomError("unknown_checkpoint", `Run "${run.runId}" has no checkpoint`);
  const root = createRoot(graph, run, { ...found, findStored: (ns) => states.find(ns) });
  root.restore(stored);
  return (await runRoot(root, run)) as StateOf<C>;
}

/** Reads the states of a run's graph, and what ended after the root's last checkpoint: tool calls, and parts by path. */
async function readStoredGraph(log: Log, sessionId: string, runId: string) {
  const info = await log.getRun(sessionId, runId);
  if (info === undefined) throw new LoomError("unknown_run", `Session "${sessionId}" has no run "${runId}"`);
  const states = new StateFold({ maxNamespaces: MAX_SUBGRAPHS });
  const endedCalls = new Map<string, ToolEndEvent>();
  const parts: PartResults = new Map();
  for await (const page of followRecords(log, sessionId, { after: info.firstId - 1 })) {
    for (const { envelope, event } of page.records) {
      if (envelope.run_id !== runId) continue;
      states.add(event);
      const part = readPartResult(event);
      if (part !== undefined) parts.set(part.path, part.result);
      else if (event.type === "tool_end") {
        const end = event as ToolEndEvent;
        if (end.call_id !== undefined) endedCalls.set(end.call_id, end);
      } else if (event.type === "checkpoint" && (event["checkpoint_ns" as keyof typeof event] ?? "") === "") {
        endedCalls.clear();
        parts.clear();
      }
    }
  }
  return { states, endedCalls, parts };
}

/** Creates the root of a graph, and the environment that it shares with its subgraphs. */
function createRoot<C extends Channels>(
  graph: Graph<C>,
  host: GraphHost,
  resumed?: Pick<GraphEnvironment, "endedCalls" | "findStored" | "parts">,
): GraphRun {
  const { endedCalls = NO_CALLS, findStored = () => undefined, parts = new Map() } = resumed ?? {};
  const environment = { host, pacer: new Pacer(), endedCalls, findStored, children: new Map(), parts };
  return new GraphRun(graph as unknown as Graph, environment, "");
}

/** Runs the root to its end, and stops it when nothing more can be written. */
async function runRoot(root: GraphRun, { signal }: GraphHost): Promise<unknown> {
  const leave = (): void => root.abort(signal.reason, 0);
  signal.addEventListener("abort", leave, { once: true });
  try {
    return await root.run();
  } finally {
    signal.removeEventListener("abort", leave);
  }
}
