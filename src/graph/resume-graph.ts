/**
 * Resumes a graph whose process died, from the log: the last checkpoint, and the tasks that finished after it. The
 * engine's recovery has already decided that the run may be resumed.
 */
import type { DeadRun } from "../engine/index.ts";
import { followRecords } from "../log/follow-records.ts";
import type { Log } from "../log/log.ts";
import { type Json, LoomError, StateFold } from "../protocol/index.ts";
import type { ToolEndEvent } from "../protocol/events.generated.ts";
import type { Channels, Graph, StateOf } from "./graph.ts";
import { GraphRun } from "./graph-run.ts";
import { type PartResults, readPartResult } from "./parts.ts";
import { runRoot, createEnvironment } from "./run-graph.ts";

/** Options of `resumeGraph`. */
export interface ResumeOptions {
  /** The log that has the run. */
  readonly log: Log;
  /** Stops the graph; running nodes get the grace period. */
  readonly signal?: AbortSignal | undefined;
}

/** Maximum subgraphs in one super-step of the root. */
const MAX_SUBGRAPHS = 1_000_000;

/** The stored state of a run's graph. */
interface StoredGraph {
  readonly states: StateFold;
  /** Tool calls that ended after the root's last checkpoint. */
  readonly endedCalls: ReadonlyMap<string, ToolEndEvent>;
  /** Results of node parts since then, by path. */
  readonly parts: PartResults;
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
  { log, signal }: ResumeOptions,
): Promise<StateOf<C>> {
  // The records that recovery wrote must be read too.
  await run.settled();
  const { states, endedCalls, parts } = await readStoredGraph(log, run.sessionId, run.runId);
  const stored = states.find();
  if (stored === undefined) throw new LoomError("unknown_checkpoint", `Run "${run.runId}" has no checkpoint`);
  const root = new GraphRun(
    graph as unknown as Graph,
    createEnvironment(run, endedCalls, (ns) => states.find(ns), parts),
    "",
  );
  root.restore(stored);
  return (await runRoot(root, run, graph.graceMs, signal)) as StateOf<C>;
}

/** Reads the records of a run, page by page. */
async function readStoredGraph(log: Log, sessionId: string, runId: string): Promise<StoredGraph> {
  const info = await log.getRun(sessionId, runId);
  if (info === undefined) throw new LoomError("unknown_run", `Session "${sessionId}" has no run "${runId}"`);
  const states = new StateFold({ maxNamespaces: MAX_SUBGRAPHS });
  const endedCalls = new Map<string, ToolEndEvent>();
  const parts = new Map<string, Json>();
  for await (const page of followRecords(log, sessionId, { after: info.firstId - 1 })) {
    for (const { envelope, event } of page.records) {
      if (envelope.run_id !== runId) continue;
      states.add(event);
      const part = readPartResult(event);
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
