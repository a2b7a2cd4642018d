/** Tree of Thoughts: generates thoughts, rates them, and continues with the best until one answers the question. */
import type { AgentKind } from "../agent-kind.ts";
import type { TotContext } from "./ask-model.ts";
import { toAgentOptions } from "../../protocol/strategy-settings.ts";
import { readSettings, type TotOptions } from "./tot-settings.ts";

export function createTot(options: TotOptions): AgentKind {
  readSettings(options);
  return {
    name: "tot",
    async answer(agentContext) {
      const { strategy } = agentContext.run.request;
      const search = readSettings({ ...options, ...toAgentOptions("tot", strategy) });
      const context: TotContext = { ...agentContext, search, answerNodeId: undefined };
      // Loaded for the first run, because most programs only use ReAct agents.
      const { createTotGraph } = await import("./tot-graph.ts");
      const { isAnswered } = await context.executeGraph(createTotGraph(context), { startedAt: context.run.now() });
      // A model that returns nothing still needs a reply.
      return isAnswered ? {} : { reply: "I have no answer.", nodeId: context.answerNodeId };
    },
  };
}
