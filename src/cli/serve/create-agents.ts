/**
 * The agents of `loom serve`: one of each kind for each model, all with the same equipment. Those of the first model are
 * called by their kind alone, `react`; others also by their model, `react:openai/gpt-5`.
 */
import { agent, type CommonOptions } from "../../agents/index.ts";
import type { ServedAgent } from "../../server/runs/run-desk.ts";
import type { Equipment } from "../equipment.ts";
import { collectToolRules } from "./collect-tool-rules.ts";
import type { NamedModel } from "./further-models.ts";
import { AGENT_NAMES, type Settings } from "./settings.ts";

type AgentName = (typeof AGENT_NAMES)[number];

const KINDS = {
  react: { kind: "react" },
  tot: { kind: "tot" },
  got: { kind: "got" },
  agot: { kind: "got", adaptive: true },
} as const satisfies { readonly [name in AgentName]: object };

const ABOUT: { readonly [name in AgentName]: string } = {
  react: "Thinks and uses tools until it can answer",
  tot: "Searches a tree of thoughts, keeps the best and goes back from dead ends",
  got: "Plans a graph of tasks and works side by side on those that do not need each other",
  agot: "The same, and a task that proves complex becomes a graph of its own",
};

/** `models`: the first, and those that can be chosen besides. */
export function createAgents(
  { tools }: Pick<Equipment, "tools">,
  models: readonly [first: NamedModel, ...further: readonly NamedModel[]],
  settings: Pick<Settings, "system" | "compression" | "tool-rules">,
  onError: (error: unknown, errorId: string) => void,
): { readonly [name: string]: ServedAgent } {
  const { system, compression, "tool-rules": said } = settings;
  const names = tools.map(({ name }) => name);
  const common: CommonOptions = {
    tools,
    compression,
    // The server counts and observes the runs of all of them.
    metrics: false,
    onError,
    ...(system === undefined ? {} : { systemInstructions: system }),
  };
  const agents = models.flatMap(({ name: model, model: own }, index) =>
    AGENT_NAMES.map((name): readonly [string, ServedAgent] => {
      const toolRules = collectToolRules(said, { agent: name, tools: names });
      const rules = toolRules === undefined ? {} : { toolRules };
      return [
        index === 0 ? name : `${name}:${model}`,
        { agent: agent({ ...common, ...rules, model: own, ...KINDS[name] }), description: ABOUT[name], model },
      ];
    }),
  );
  return Object.fromEntries(agents);
}
