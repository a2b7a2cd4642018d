/**
 * Agents as two choices: kind and model. The server names an agent of an additional model `react:openai/gpt-5`; the
 * part before the model is the kind.
 */
import type { ListedAgent } from "./page-state.ts";

/** One kind of agent, with its agents per model. */
export interface AgentOption {
  readonly name: string;
  /** `react`, `tot`, `got`, `agot`, or a custom kind. */
  readonly kind: string;
  readonly description: string | undefined;
  readonly agents: readonly ListedAgent[];
}

export interface ChosenAgent {
  readonly option: AgentOption;
  readonly agent: ListedAgent;
}

export function listAgentOptions(agents: readonly ListedAgent[]): readonly AgentOption[] {
  const options = new Map<string, AgentOption>();
  for (const agent of agents) {
    const name = stripModel(agent);
    const before = options.get(name);
    const { description } = agent;
    options.set(name, {
      name,
      kind: agent.kind === "got" && agent.is_adaptive === true ? "agot" : agent.kind,
      description: before?.description ?? description,
      agents: [...(before?.agents ?? []), agent],
    });
  }
  return [...options.values()];
}

/** Returns the chosen agent, or the default if the choice does not exist. */
export function findAgent(
  options: readonly AgentOption[],
  name: string | undefined,
  model: string | undefined,
): ChosenAgent | undefined {
  const byDefault = options.find(({ agents }) => agents.some(({ is_default }) => is_default));
  const option = options.find((one) => one.name === name) ?? byDefault ?? options[0];
  const agent = option?.agents.find((one) => one.model === model) ?? option?.agents[0];
  return option === undefined || agent === undefined ? undefined : { option, agent };
}

function stripModel({ name, model }: ListedAgent): string {
  const suffix = `:${model ?? ""}`;
  return model !== undefined && name.endsWith(suffix) && name.length > suffix.length
    ? name.slice(0, -suffix.length)
    : name;
}
