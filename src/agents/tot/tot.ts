/** Tree of Thoughts: generates thoughts, rates them, and continues with the best until one answers the question. */
import type { AgentKind } from "../agent-kind.ts";
import type { TotContext } from "./ask-model.ts";
import { createTotGraph } from "./tot-graph.ts";
import { readSettings } from "./tot-settings.ts";

/** Options of the kind `tot`. */
export interface TotOptions {
  /**
   * `breadth` continues with the best `beam` thoughts of each level. `depth` continues with the best thought, and
   * backtracks to the next best if none reaches `threshold`. Default: `breadth`.
   */
  readonly strategy?: "breadth" | "depth";
  /** Thoughts per level that are continued; only for `breadth`. Default: 5. */
  readonly beam?: number;
  /**
   * Lowest value of a promising thought, from 0 to 1; others are dead ends. A value of 0 is always a dead end. Only for
   * `evaluate: "value"`. Default: 0.05 for `breadth`, 0.3 for `depth`.
   */
  readonly threshold?: number;
  /** `propose` lists all candidates in one call. `sample` makes one call per candidate. Default: `propose`. */
  readonly generate?: "propose" | "sample";
  /** Maximum candidates per thought. Default: 16 for `propose`, 5 for `sample`. */
  readonly candidates?: number;
  /**
   * `value` rates each thought separately. `vote` compares the thoughts of a level and ranks them by votes; there are
   * no dead ends. Default: `value`.
   */
  readonly evaluate?: "value" | "vote";
  /** Model calls per rating: values are averaged, votes are counted. Default: 1 for `value`, 3 for `vote`. */
  readonly evaluations?: number;
  /** Maximum depth of the tree. Default: 8. */
  readonly maxDepth?: number;
  /**
   * Maximum number of backtracks; 0 turns backtracking off. When this or one of the next three limits is reached, the
   * search reports `budget_spent` and answers with the best thought so far. Default: 20.
   */
  readonly maxBacktracks?: number;
  /** Maximum thoughts of the tree. Default: 1,000. */
  readonly maxThoughts?: number;
  /** Maximum tokens of all calls, as reported by the provider. Default: 2,000,000. */
  readonly maxTokens?: number;
  /**
   * Maximum milliseconds since the start of the run, including the time users need for approvals. Running calls are not
   * interrupted. Default: 1,800,000.
   */
  readonly maxMs?: number;
  /** Maximum parallel model calls, and maximum thoughts whose tools run in parallel. Default: 8. */
  readonly concurrency?: number;
}

export function createTot(options: TotOptions): AgentKind {
  const search = readSettings(options);
  return {
    name: "tot",
    async answer(agentContext) {
      const context: TotContext = { ...agentContext, search, answerNodeId: undefined };
      const { isAnswered } = await context.executeGraph(createTotGraph(context), { startedAt: context.run.now() });
      // A model that returns nothing still needs a reply.
      return isAnswered ? {} : { reply: "I have no answer.", nodeId: context.answerNodeId };
    },
  };
}
