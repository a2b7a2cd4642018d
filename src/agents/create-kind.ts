/** Creates the kind that the options of an agent choose. */
import { ADAPTIVE } from "../protocol/agent-kinds.ts";
import { readOptions } from "../protocol/read-options.ts";
import { toAgentOptions } from "../protocol/strategy-settings.ts";
import type { AgentKind } from "./agent-kind.ts";
import type { AgentOptions } from "./agent-options.ts";
import type { GotContext } from "./got/execution.ts";
import { GOT_OPTIONS, type GotOptions } from "./got/got-settings.ts";
import { createReact } from "./react/react.ts";
import type { TotContext } from "./tot/tot-context.ts";
import { readSettings, type TotOptions } from "./tot/tot-settings.ts";

export function createKind(options: AgentOptions): AgentKind {
  switch (options.kind) {
    case "tot":
      return createTot(options);
    case "got":
      return createGot(options);
    default:
      return createReact(options);
  }
}

// The graphs of searches are loaded for the first run, because most programs only use ReAct agents.

/** Tree of Thoughts: generates thoughts, rates them, and continues with the best until one answers the question. */
function createTot(options: TotOptions): AgentKind {
  readSettings(options);
  return {
    name: "tot",
    async answer(agentContext) {
      const { strategy } = agentContext.run.request;
      const search = readSettings({ ...options, ...toAgentOptions("tot", strategy) });
      const context: TotContext = { ...agentContext, search, answerNodeId: undefined };
      const { createTotGraph } = await import("./tot/tot-graph.ts");
      const { isAnswered } = await context.executeGraph(createTotGraph(context), { startedAt: context.run.now() });
      // A model that returns nothing still needs a reply.
      return isAnswered ? {} : { reply: "I have no answer.", nodeId: context.answerNodeId };
    },
  };
}

/**
 * Graph of Thoughts: the model plans a graph of tasks, independent tasks run in parallel with the results they need,
 * and the answer is written from the final results. With `adaptive`, a complex task becomes a graph itself.
 */
function createGot(options: GotOptions): AgentKind {
  const { adaptive } = readOptions(GOT_OPTIONS, options, { isPart: true });
  return {
    name: "got",
    async answer(agentContext) {
      const strategy = toAgentOptions(adaptive ? ADAPTIVE : "got", agentContext.run.request.strategy);
      const limits = readOptions(GOT_OPTIONS, { ...options, ...strategy }, { isPart: true });
      const context: GotContext = { ...agentContext, limits };
      const { createGotGraph } = await import("./got/got-graph.ts");
      await context.executeGraph(createGotGraph(context), {});
      return {};
    },
  };
}
