/**
 * Runs the nodes of a plan. Each node is a thought with its own span: it starts when the results it needs are
 * available, is retried when it fails, and may expand into a graph of thoughts. Nodes that cannot run are reported as
 * skipped.
 *
 * Invariant: a thought that has ended, successfully or not, is in the log together with its result and is not run
 * again.
 */
import { setTimeout as pause } from "node:timers/promises";
import { describeError } from "../../engine/node-run.ts";
import type { PartContext, RetryPolicy } from "../../graph/graph.ts";
import { findRetryDelay } from "../../graph/retry.ts";
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import { isLoomError, LoomError } from "../../protocol/index.ts";
import { type Execution, fitKnownResults, listKnownResults, type ThoughtOutcome } from "./execution.ts";
import { draftNode } from "./draft-node.ts";
import { expandNode } from "./expand-node.ts";
import type { GotLimits } from "./got-settings.ts";
import { joinMissing, type MissingNodes, NONE_MISSING } from "./missing-nodes.ts";
import { listFinalNodes, type PlanNode, toLabel } from "./plan.ts";
import { askForWork, type KnownResult } from "./prompts.ts";
import { scoreResults } from "./score-results.ts";
import { closeCallsOf, thinkWithTools } from "./think-with-tools.ts";

/** The remembered end of a thought. */
type ThoughtEnd = {
  readonly text?: string;
  /** The best score, of a thought that scored results. */
  readonly score?: number;
  readonly error?: string;
  /** Nodes without a result inside an expanded thought. */
  readonly lost?: MissingNodes;
};

const MAX_PAUSE_MS = 600_000;

interface PlanScope {
  /** The span that contains the nodes. */
  readonly around: PartContext;
  /** Results for nodes that need none in the plan: those that the expanded node needs. */
  readonly given: readonly KnownResult[];
  /** Number of enclosing expansions. */
  readonly depth: number;
  /** True for the drafts of a node, which are neither expanded nor drafted themselves. */
  readonly isDraft?: boolean;
}

/** Resolves when every node has ended or was skipped. Rejects when the run is over. */
export async function runThoughts(execution: Execution, nodes: readonly PlanNode[], scope: PlanScope): Promise<void> {
  const { scheduler, results, missing } = execution;
  const skipped = new Set<string>();
  for (const node of nodes) execution.planned.set(node.id, node);
  await scheduler.run(nodes, {
    work: async (node) => {
      const needed = node.needs.flatMap((id) => execution.planned.get(id) ?? []);
      const known = needed.length === 0 ? scope.given : listKnownResults(needed, results);
      const ended = await runThought(execution, node, fitKnownResults(known), scope);
      recordEnd(execution, node, ended);
      return ended.text !== undefined;
    },
    skip: async (node, need) => {
      const { id } = node;
      const reason = `skipped: needs ${need}, which ${skipped.has(need) ? "was skipped" : "failed"}`;
      skipped.add(id);
      missing.set(id, createMissing(node, reason));
      // A key that cannot be a node ID.
      await scope.around.once(`skip:${id}`, (part) => {
        part.emitWithResult({ type: "got_node_failed", id, error: reason, skipped: true });
        return true;
      });
    },
  });
}

/** Records how a thought ended, whether it ran now or is remembered. */
function recordEnd(execution: Execution, node: PlanNode, end: ThoughtEnd): void {
  const { id } = node;
  const { text, score, error, lost = NONE_MISSING } = end;
  if (score !== undefined) execution.scores.set(id, score);
  if (text !== undefined) execution.results.set(id, text);
  if (error !== undefined) execution.firstFault ??= `${id}: ${error}`;
  const all = error === undefined ? lost : joinMissing([createMissing(node, error), lost]);
  if (all.count > 0) execution.missing.set(id, all);
}

function createMissing({ id, task }: PlanNode, reason: string): MissingNodes {
  return { missing: [{ id, task: toLabel(task), reason: toLabel(reason) }], count: 1 };
}

export function createRetryPolicy({ attempts, retryMs }: Pick<GotLimits, "attempts" | "retryMs">): RetryPolicy {
  return {
    attempts,
    delayMs: retryMs,
    factor: 2,
    maxDelayMs: MAX_PAUSE_MS,
    // The nodes of an expansion were already retried themselves.
    when: (error) => !isLoomError(error, "node_failed"),
  };
}

/** Runs one thought with retries. Each attempt has its own span. */
async function runThought(
  execution: Execution,
  node: PlanNode,
  known: readonly KnownResult[],
  { around, depth, isDraft = false }: PlanScope,
): Promise<ThoughtEnd> {
  const { context, scheduler } = execution;
  const policy = createRetryPolicy(context.limits);
  const { id } = node;
  let refusal: LoomError | undefined;
  for (let attempt = 1; ; attempt++) {
    let delay: number | undefined;
    let missing: MissingNodes | undefined;
    try {
      return await around.once<ThoughtEnd>(
        id,
        async (part) => {
          void part.span.emit({ type: "got_node_start", id });
          if (refusal !== undefined) throw refusal;
          const { text, score, ...details } = await workOn(execution, part, node, known, {
            depth,
            isDraft,
            onMissing: (found) => (missing = found),
          });
          closeCallsOf(context.run, part.span);
          part.emitWithResult({ type: "got_node_complete", id, result_summary: toLabel(text), ...details });
          return dropUndefined({ text, score, lost: missing });
        },
        {
          name: id,
          recover: (error, part) => {
            closeCallsOf(context.run, part.span);
            const reason = describeError(error);
            delay = findRetryDelay(policy, attempt, error);
            if (delay !== undefined) {
              void part.span.emit({ type: "got_node_failed", id, error: reason });
              return undefined;
            }
            part.emitWithResult({ type: "got_node_failed", id, error: reason });
            return dropUndefined({ error: reason, lost: missing });
          },
        },
      );
    } catch (error) {
      // The result does not fit into a record: run the thought again in a new span, where it fails with this error.
      if (refusal === undefined && isLoomError(error, "event_too_large", "batch_too_large")) {
        refusal = error;
        void around.span.emit({ type: "got_node_failed", id, error: describeError(error) });
        continue;
      }
      // The run was cancelled or the log failed; this is not a failure of the thought.
      if (delay === undefined) throw error;
      await scheduler.releaseSlotWhile(() => pause(delay, undefined, { signal: execution.node.signal }));
    }
  }
}

interface WorkOptions {
  readonly depth: number;
  readonly isDraft: boolean;
  /** Called with the missing nodes of an expansion. */
  readonly onMissing: (missing: MissingNodes) => void;
}

async function workOn(
  execution: Execution,
  part: PartContext,
  node: PlanNode,
  known: readonly KnownResult[],
  { depth, isDraft, onMissing }: WorkOptions,
): Promise<ThoughtOutcome> {
  const { context, scheduler, results, missing } = execution;
  if (node.operation === "score") return scoreResults(execution, part, node, known);
  const plan = isDraft ? undefined : await expandNode(execution, part, node, known, depth);
  if (plan === undefined) {
    const drafted = isDraft
      ? undefined
      : await draftNode(execution, node, (nodes) =>
          scheduler.releaseSlotWhile(() =>
            runThoughts(execution, nodes, { around: part, given: known, depth, isDraft: true }),
          ),
        );
    return { text: drafted ?? (await thinkWithTools(execution, part, askForWork(context, node, known))) };
  }
  await scheduler.releaseSlotWhile(() =>
    runThoughts(execution, plan.nodes, { around: part, given: known, depth: depth + 1 }),
  );
  onMissing(joinMissing(plan.nodes.flatMap(({ id }) => missing.get(id) ?? [])));
  const ends = listKnownResults(
    listFinalNodes(plan.nodes, (id) => results.has(id)),
    results,
  );
  const [first] = ends;
  if (first === undefined) throw new LoomError("node_failed", `None of its ${plan.nodes.length} nodes has a result`);
  if (ends.length === 1) return { text: first.text };
  const whole: PlanNode = { ...node, operation: "aggregate" };
  return { text: await thinkWithTools(execution, part, askForWork(context, whole, fitKnownResults(ends))) };
}
