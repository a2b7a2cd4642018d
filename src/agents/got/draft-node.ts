/**
 * Works on a node in several drafts (options `branches`, `keepBest`, `improvements`): generates them, scores them, keeps
 * the best, and improves it until its score is good enough. Each draft is a node of the graph.
 *
 * Invariant: added nodes are remembered by the graph's node run, so that a restart adds none of them again.
 */
import { LoomError } from "../../protocol/index.ts";
import type { Execution } from "./execution.ts";
import { describeDrafts, type PlanNode } from "./plan.ts";

/** Returns the result of the node, or undefined if the options or the limits leave it to a single call. */
export async function draftNode(
  execution: Execution,
  node: PlanNode,
  runNodes: (nodes: readonly PlanNode[]) => Promise<void>,
): Promise<string | undefined> {
  const { context, node: around, results, scores } = execution;
  const { branches, keepBest, improvements, goodScore, maxTotalNodes } = context.limits;
  if (branches === 1 && improvements === 0) return undefined;
  const create = (name: string, fields: Omit<PlanNode, "id" | "task">): PlanNode => ({
    id: `${node.id}.${name}`,
    task: node.task,
    ...fields,
  });
  let added = 0;
  /** Adds nodes to the graph and runs them. False if the limit leaves no room. */
  const run = async (nodes: readonly PlanNode[]): Promise<boolean> => {
    const key = `draft:${node.id}-${++added}`;
    if (!around.has(key) && execution.total + nodes.length > maxTotalNodes) return false;
    execution.total += nodes.length;
    await around.once(key, (part) => {
      part.emitWithResult(describeDrafts(node.id, { nodes }));
      return true;
    });
    await runNodes(nodes);
    return true;
  };
  /** Scores drafts and returns the node with the best, or the first draft if they cannot be scored. */
  const choose = async (round: number, drafts: readonly PlanNode[], keep: number): Promise<PlanNode | undefined> => {
    const best = create(`best${round}`, { needs: drafts.map(({ id }) => id), operation: "score", keep });
    return (await run([best])) && results.has(best.id) ? best : drafts[0];
  };
  const drafts = Array.from({ length: branches }, (_, index) =>
    create(`try${index + 1}`, { needs: [], operation: node.operation }),
  );
  if (!(await run(drafts))) return undefined;
  const made = drafts.filter(({ id }) => results.has(id));
  if (made.length === 0) throw new LoomError("node_failed", `None of its ${branches} drafts has a result`);
  let best = await choose(0, made, keepBest);
  for (let round = 1; round <= improvements && best !== undefined; round++) {
    if ((scores.get(best.id) ?? 0) >= goodScore) break;
    const better = create(`better${round}`, { needs: [best.id], operation: "refine" });
    if (!(await run([better])) || !results.has(better.id)) break;
    best = await choose(round, [best, better], 1);
  }
  return best === undefined ? undefined : results.get(best.id);
}
