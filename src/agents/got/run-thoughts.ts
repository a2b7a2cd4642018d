/**
 * Carries out the nodes of a plan: each is a thought with a span of its own, that begins when the results it needs are
 * there, is tried again when it fails, and may become a graph of thoughts itself. What is not reached is named.
 *
 * Invariant: a thought that has ended, well or not, is in the log together with its end, and is not worked on again.
 */
import { setTimeout as pause } from "node:timers/promises";
import { describeError } from "../../engine/index.ts";
import type { Part, RetryPolicy } from "../../graph/index.ts";
import { findRetryDelay } from "../../graph/retry.ts";
import { type GotNodeCompleteEvent, isLoomError, LoomError } from "../../protocol/index.ts";
import { type Execution, fitKnown, type GotLimits, listKnown } from "./execution.ts";
import { expandNode } from "./expand-node.ts";
import { joinLost, type Lost, NOTHING_LOST } from "./lost.ts";
import { listEnds, type PlanNode, summarise } from "./plan.ts";
import { askForWork, type Known } from "./prompts.ts";
import { scoreResults } from "./score-results.ts";
import { closeCallsOf, thinkWithTools } from "./think-with-tools.ts";

/** What is remembered of a thought. */
type Ended = {
  readonly text?: string;
  readonly error?: string;
  /** Of a thought that has become a graph: what is missing in it. */
  readonly lost?: Lost;
};

const MAX_PAUSE_MS = 600_000;

interface Place {
  /** The span they are inside of. */
  readonly around: Part;
  /** What nodes that need nothing are given: the results that the expanded node needs. */
  readonly given: readonly Known[];
  /** Expansions around them. */
  readonly depth: number;
}

/** Resolves when every node has ended or was skipped; rejects when the run is over. */
export async function runThoughts(execution: Execution, nodes: readonly PlanNode[], place: Place): Promise<void> {
  const { scheduler, results, lost } = execution;
  const skipped = new Set<string>();
  const byId = new Map(nodes.map((node) => [node.id, node]));
  await scheduler.run(nodes, {
    work: async (node) => {
      const needed = node.needs.flatMap((id) => byId.get(id) ?? []);
      const known = needed.length === 0 ? place.given : listKnown(needed, results);
      const ended = await runThought(execution, node, fitKnown(known), place);
      note(execution, node, ended);
      return ended.text !== undefined;
    },
    skip: async (node, need) => {
      const { id } = node;
      const reason = `skipped: needs ${need}, which ${skipped.has(need) ? "was skipped" : "failed"}`;
      skipped.add(id);
      lost.set(id, describeLost(node, reason));
      // A name that no node can have.
      await place.around.once(`skip:${id}`, (part) => {
        part.conclude({ type: "got_node_failed", id, error: reason, skipped: true });
        return true;
      });
    },
  });
}

/** Keeps what a thought has come to, whether it was worked on now or is remembered. */
function note(execution: Execution, node: PlanNode, { text, error, lost = NOTHING_LOST }: Ended): void {
  const { id } = node;
  if (text !== undefined) execution.results.set(id, text);
  if (error !== undefined) execution.firstFault ??= `${id}: ${error}`;
  const all = error === undefined ? lost : joinLost([describeLost(node, error), lost]);
  if (all.count > 0) execution.lost.set(id, all);
}

function describeLost({ id, task }: PlanNode, reason: string): Lost {
  return { missing: [{ id, task: summarise(task), reason: summarise(reason) }], count: 1 };
}

export function createRetryPolicy({ attempts, retryMs }: Pick<GotLimits, "attempts" | "retryMs">): RetryPolicy {
  return {
    attempts,
    delayMs: retryMs,
    factor: 2,
    maxDelayMs: MAX_PAUSE_MS,
    // What is inside of it has been tried by itself.
    when: (error) => !isLoomError(error, "node_failed"),
  };
}

/** One thought, in as many tries as it may have; each is a span of its own. */
async function runThought(
  execution: Execution,
  node: PlanNode,
  known: readonly Known[],
  { around, depth }: Place,
): Promise<Ended> {
  const { context, scheduler } = execution;
  const policy = createRetryPolicy(context.limits);
  const { id } = node;
  let refusal: LoomError | undefined;
  for (let attempt = 1; ; attempt++) {
    let delay: number | undefined;
    let lost: Lost | undefined;
    try {
      return await around.once<Ended>(
        id,
        async (part) => {
          void part.span.emit({ type: "got_node_start", id });
          if (refusal !== undefined) throw refusal;
          const { text, ...told } = await workOn(execution, part, node, known, {
            depth,
            onLost: (found) => (lost = found),
          });
          closeCallsOf(context.run, id);
          part.conclude({ type: "got_node_complete", id, result_summary: summarise(text), ...told });
          return { text, ...(lost === undefined ? {} : { lost }) };
        },
        {
          name: id,
          recover: (error, part) => {
            closeCallsOf(context.run, id);
            delay = findRetryDelay(policy, attempt, error);
            if (delay !== undefined) return undefined;
            const reason = describeError(error);
            part.conclude({ type: "got_node_failed", id, error: reason });
            return { error: reason, ...(lost === undefined ? {} : { lost }) };
          },
        },
      );
    } catch (error) {
      // What it has come to does not fit into a record: that is its failure, and is told in a span of its own.
      if (refusal === undefined && isLoomError(error, "event_too_large", "batch_too_large")) {
        refusal = error;
        continue;
      }
      // Told to stop, or not to be stored: that is no failure of the thought.
      if (delay === undefined) throw error;
      await scheduler.leave(() => pause(delay, undefined, { signal: execution.node.signal }));
    }
  }
}

/** What a thought has come to, and what is told of it beside the text. */
export type Outcome = { readonly text: string } & Partial<
  Pick<GotNodeCompleteEvent, "result_summary" | "scored" | "scores">
>;

interface WorkOptions {
  readonly depth: number;
  /** Told what is missing in the graph that the thought has become. */
  readonly onLost: (lost: Lost) => void;
}

async function workOn(
  execution: Execution,
  part: Part,
  node: PlanNode,
  known: readonly Known[],
  { depth, onLost }: WorkOptions,
): Promise<Outcome> {
  const { context, scheduler, results, lost } = execution;
  if (node.operation === "score") return scoreResults(execution, part, node, known);
  const plan = await expandNode(execution, part, node, known, depth);
  if (plan === undefined) return { text: await thinkWithTools(execution, part, askForWork(context, node, known)) };
  await scheduler.leave(() => runThoughts(execution, plan.nodes, { around: part, given: known, depth: depth + 1 }));
  onLost(joinLost(plan.nodes.flatMap(({ id }) => lost.get(id) ?? [])));
  const ends = listKnown(
    listEnds(plan.nodes, (id) => results.has(id)),
    results,
  );
  const [first] = ends;
  if (first === undefined)
    throw new LoomError("node_failed", `none of the ${plan.nodes.length} nodes in it has a result`);
  if (ends.length === 1) return { text: first.text };
  const whole: PlanNode = { ...node, operation: "aggregate" };
  return { text: await thinkWithTools(execution, part, askForWork(context, whole, fitKnown(ends))) };
}
