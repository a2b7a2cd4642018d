/**
 * Who can answer, in two choices: how it goes about a question, and by which model. A server names an agent of a further
 * model `react:openai/gpt-5`; what stands before the model is the same way of working.
 */
import type { AgentInfo } from "./page-state.ts";

/** One way of working, with all that can do it. */
export interface AgentChoice {
  readonly name: string;
  /** `react`, `tot`, `got`, `agot`, or another that only its own words describe. */
  readonly kind: string;
  readonly description: string | undefined;
  readonly agents: readonly AgentInfo[];
}

export interface ChosenAgent {
  readonly choice: AgentChoice;
  readonly agent: AgentInfo;
}

export function listChoices(agents: readonly AgentInfo[]): readonly AgentChoice[] {
  const choices = new Map<string, AgentChoice>();
  for (const agent of agents) {
    const name = cutModel(agent);
    const before = choices.get(name);
    const { description } = agent;
    choices.set(name, {
      name,
      kind: agent.kind === "got" && agent.is_adaptive === true ? "agot" : agent.kind,
      description: before?.description ?? description,
      agents: [...(before?.agents ?? []), agent],
    });
  }
  return [...choices.values()];
}

/** What was chosen, as far as it is there; else the server's first. */
export function findAgent(
  choices: readonly AgentChoice[],
  name: string | undefined,
  model: string | undefined,
): ChosenAgent | undefined {
  const byDefault = choices.find(({ agents }) => agents.some(({ is_default }) => is_default));
  const choice = choices.find((one) => one.name === name) ?? byDefault ?? choices[0];
  const agent = choice?.agents.find((one) => one.model === model) ?? choice?.agents[0];
  return choice === undefined || agent === undefined ? undefined : { choice, agent };
}

function cutModel({ name, model }: AgentInfo): string {
  const suffix = `:${model ?? ""}`;
  return model !== undefined && name.endsWith(suffix) && name.length > suffix.length
    ? name.slice(0, -suffix.length)
    : name;
}
