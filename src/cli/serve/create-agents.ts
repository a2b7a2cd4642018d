/**
 * Creates the agents of `loom serve`: one of each kind for each model, with shared tools. Agents of the first model are
 * named after their kind (`react`), the others after kind and model (`react:openai/gpt-5`).
 */
import { agent, type CommonOptions } from "../../agents/index.ts";
import { createTitleWriter } from "../../agents/create-title-writer.ts";
import { isStrategyAgent } from "../../protocol/strategy-settings.ts";
import type { ServedAgent } from "../../server/runs/run-dispatcher.ts";
import type { AgentResources } from "../agent-resources.ts";
import { collectToolRules } from "./collect-tool-rules.ts";
import type { NamedModel } from "./additional-models.ts";
import { BUILT_IN_AGENTS, type BuiltInAgent, collectCaps, collectOptions } from "../strategy-items.ts";
import type { Settings } from "./settings.ts";

const KINDS = {
  react: { kind: "react" },
  tot: { kind: "tot" },
  got: { kind: "got" },
  agot: { kind: "got", adaptive: true },
} as const satisfies { readonly [name in BuiltInAgent]: object };

const DESCRIPTIONS: { readonly [name in BuiltInAgent]: string } = {
  react: "Reasons and calls tools until it can answer",
  tot: "Searches a tree of thoughts with backtracking",
  got: "Plans a graph of tasks and runs independent tasks in parallel",
  agot: "Like got, and splits complex tasks into their own graphs",
};

type AgentSettings = Pick<
  Settings,
  "system" | "reasoning" | "compression" | "record-prompts" | "titles" | "tool-rules" | "expose-tool-errors"
> &
  Partial<Pick<Settings, "set" | "caps">>;

export function createAgents(
  { tools }: Pick<AgentResources, "tools">,
  models: readonly [first: NamedModel, ...further: readonly NamedModel[]],
  settings: AgentSettings,
): { readonly [name: string]: ServedAgent } {
  const { system, reasoning, compression, "tool-rules": toolRuleItems } = settings;
  const [own, caps] = [collectOptions(settings.set ?? []), collectCaps(settings.caps ?? [])];
  const names = tools.map(({ name }) => name);
  const common: CommonOptions = {
    tools,
    compression,
    reasoning,
    recordPrompts: settings["record-prompts"],
    exposeToolErrors: settings["expose-tool-errors"],
    // The server measures the runs of all agents.
    metrics: false,
    ...(system === undefined ? {} : { systemInstructions: system }),
  };
  const agents = models.flatMap(({ name: model, model: ownModel }, index) =>
    BUILT_IN_AGENTS.map((name): readonly [string, ServedAgent] => {
      const toolRules = collectToolRules(toolRuleItems, { agent: name, tools: names });
      const rules = toolRules === undefined ? {} : { toolRules };
      return [
        index === 0 ? name : `${name}:${model}`,
        {
          agent: agent({ ...common, ...rules, model: ownModel, ...KINDS[name], ...own[name] }),
          strategyCaps: isStrategyAgent(name) ? caps[name] : undefined,
          description: DESCRIPTIONS[name],
          model,
          writeTitle: settings.titles ? createTitleWriter(ownModel) : undefined,
        },
      ];
    }),
  );
  return Object.fromEntries(agents);
}
