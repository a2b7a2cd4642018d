/**
 * Tree of Thoughts: thoughts are generated, judged, kept or given up, level by level or one after the other, until one of
 * them answers the question. Here is what it can be told.
 */
import type { AgentKind } from "../agent-kind.ts";
import type { TotContext } from "./ask-model.ts";
import { createTotGraph } from "./tot-graph.ts";
import { readSettings } from "./tot-settings.ts";

export interface TotOptions {
  /**
   * `breadth`: level by level, the best `beam` thoughts of each go on. `depth`: the best thought goes on; where none is
   * as good as `threshold`, the search goes back to the next best of an earlier level.
   */
  readonly strategy?: "breadth" | "depth";
  /** Thoughts of a level that go on. Of breadth only. */
  readonly beam?: number;
  /** Thoughts with a lower value are dead ends, from 0 to 1; a value of 0 always is one. Of `value` only. */
  readonly threshold?: number;
  /** `propose`: one call lists the candidates. `sample`: each candidate is a call of its own. */
  readonly generate?: "propose" | "sample";
  /** Candidates of one thought: at most so many are proposed, or so many are sampled. */
  readonly candidates?: number;
  /**
   * `value`: each thought is judged by itself. `vote`: the thoughts of a level are compared, and ranked by their votes; none
   * is a dead end.
   */
  readonly evaluate?: "value" | "vote";
  /** Model calls of one judgement: values are averaged, votes are counted. */
  readonly evaluations?: number;
  /** Levels below the question. */
  readonly maxDepth?: number;
  /**
   * How often the search may go back to what it had left; 0: never, and nothing is said of it. Code `budget_spent`, like
   * the next three: the search ends, and the best so far is answered with.
   */
  readonly maxBacktracks?: number;
  /** Thoughts in all. */
  readonly maxThoughts?: number;
  /** Tokens of all calls, as far as the provider counts them. */
  readonly maxTokens?: number;
  /**
   * Milliseconds from the beginning of the run; time in which the user is asked counts. Nothing new is begun after it, and
   * what is going is not interrupted.
   */
  readonly maxMs?: number;
  /** Model calls that go at once, and thoughts whose tools run at once. */
  readonly concurrency?: number;
}

export function createTot(options: TotOptions): AgentKind {
  const search = readSettings(options);
  return {
    name: "tot",
    async answer(agentContext) {
      const context: TotContext = { ...agentContext, search, answerNodeId: undefined };
      const { isAnswered } = await context.carryOut(createTotGraph(context), { startedAt: context.run.now() });
      // A model that has nothing to say has still to be answered for.
      return isAnswered ? {} : { reply: "I have no answer.", nodeId: context.answerNodeId };
    },
  };
}
