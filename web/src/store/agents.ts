/**
 * Agents as two choices: kind and model. The server names an agent of an additional model `react:openai/gpt-5`; the
 * part before the model is the kind.
 */
import type { Agents } from "../../../src/server/api/shapes.generated.ts";

export type ListedAgent = Agents["agents"][number];

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

/** Kind and model that the user chose for the next message of a session. */
export interface AgentChoice {
  readonly kind?: string;
  readonly model?: string;
}

export interface AgentSource {
  /** The choice for this session, not used yet. */
  readonly choice: AgentChoice | undefined;
  /** Name of the agent of the latest message of the session. */
  readonly last: string | undefined;
  /** The choice for new sessions. */
  readonly settings: AgentChoice;
}

/** Returns the agent of the next message of a session: the chosen one, else that of its latest message. */
export function chooseAgent(
  options: readonly AgentOption[],
  { choice = {}, last, settings }: AgentSource,
): ChosenAgent | undefined {
  const latest = last === undefined ? undefined : findByName(options, last);
  const kind = latest?.option.name ?? settings.kind;
  const model = latest === undefined ? settings.model : latest.agent.model;
  return findAgent(options, choice.kind ?? kind, choice.model ?? model);
}

function findByName(options: readonly AgentOption[], name: string): ChosenAgent | undefined {
  for (const option of options) {
    const agent = option.agents.find((one) => one.name === name);
    if (agent !== undefined) return { option, agent };
  }
  return undefined;
}

/** Returns the agent of the latest message of a session, sent or answered. */
export function findLatestAgent(
  waiting: readonly { readonly agent?: string }[],
  turns: readonly { readonly agent?: string | undefined }[],
): string | undefined {
  return waiting.at(-1)?.agent ?? turns.at(-1)?.agent;
}

function stripModel({ name, model }: ListedAgent): string {
  const suffix = `:${model ?? ""}`;
  return model !== undefined && name.endsWith(suffix) && name.length > suffix.length
    ? name.slice(0, -suffix.length)
    : name;
}
