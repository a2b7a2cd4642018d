/**
 * Goes on with a graph whose process died, from what the log holds: the last checkpoint, and the tasks that had finished
 * since. It decides nothing about the run: whether it may be resumed was decided by the engine's recovery.
 */
import type { DeadRun } from "../engine/index.ts";
import { followRecords } from "../log/follow-records.ts";
import type { Log } from "../log/log.ts";
import { type Json, LoomError, StateFold, type ToolEndEvent } from "../protocol/index.ts";
import type { Channels, Graph, StateOf } from "./graph.ts";
import { GraphRun } from "./graph-run.ts";
import { type PartResults, readPart } from "./parts.ts";
import { carryOut, createEnvironment } from "./run-graph.ts";

export interface ResumeOptions {
  /** Where the run is. */
  readonly log: Log;
  readonly signal?: AbortSignal | undefined;
}

/** Subgraphs of one super-step of the root. */
const MAX_SUBGRAPHS = 1_000_000;

/** What the log holds of a run's graph. */
interface StoredGraph {
  readonly states: StateFold;
  /** Tool calls that ended since the root's last checkpoint. */
  readonly endedCalls: ReadonlyMap<string, ToolEndEvent>;
  /** What parts of nodes have given since then, by their path. */
  readonly parts: PartResults;
}

/**
 * Resolves to the last state, like `runGraph`. A task that had finished is not run again; the others are, and find what
 * their tools had done in `endedCalls`. Rejects with `graph_changed` where the graph lacks what the log speaks of.
 */
export async function resumeGraph<C extends Channels>(
  graph: Graph<C>,
  { run }: Pick<DeadRun, "run">,
  { log, signal }: ResumeOptions,
): Promise<StateOf<C>> {
  // What the recovery has closed belongs to what is read.
  await run.settled();
  const { states, endedCalls, parts } = await readStoredGraph(log, run.sessionId, run.runId);
  const stored = states.find();
  if (stored === undefined) throw new LoomError("unknown_checkpoint", `run ${run.runId} has no checkpoint`);
  const root = new GraphRun(
    graph as unknown as Graph,
    createEnvironment(run, endedCalls, (ns) => states.find(ns), parts),
    "",
  );
  root.restore(stored);
  return (await carryOut(root, run, graph.graceMs, signal)) as StateOf<C>;
}

/** Reads a run's records, page by page. */
async function readStoredGraph(log: Log, sessionId: string, runId: string): Promise<StoredGraph> {
  const info = await log.getRun(sessionId, runId);
  if (info === undefined) throw new LoomError("unknown_run", `session "${sessionId}" has no run ${runId}`);
  const states = new StateFold({ maxNamespaces: MAX_SUBGRAPHS });
  const endedCalls = new Map<string, ToolEndEvent>();
  const parts = new Map<string, Json>();
  for await (const page of followRecords(log, sessionId, { after: info.firstId - 1 })) {
    for (const { envelope, event } of page.records) {
      if (envelope.run_id !== runId) continue;
      states.add(event);
      const part = readPart(event);
      if (part !== undefined) parts.set(part.path, part.result);
      else if (event.type === "tool_end") keepEnd(endedCalls, event as ToolEndEvent);
      else if (event.type === "checkpoint" && (event["checkpoint_ns" as keyof typeof event] ?? "") === "") {
        endedCalls.clear();
        parts.clear();
      }
    }
  }
  return { states, endedCalls, parts };
}

function keepEnd(calls: Map<string, ToolEndEvent>, event: ToolEndEvent): void {
  if (event.call_id !== undefined) calls.set(event.call_id, event);
}
