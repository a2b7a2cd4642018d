/** Which kind of agent `loom run` was asked for, and how it is to go to work. An option of another kind is refused. */
import { AGENT_KINDS } from "../../agents/agent-kind.ts";
import type { AgentKindName, GotOptions, ReactOptions, TotOptions } from "../../agents/index.ts";
import { CliError, type ParsedCommand, textOption } from "../command.ts";

/** What was said about it; what was not is left to the agent. */
export type AgentChoice =
  | ({ readonly kind: "react" } & Pick<ReactOptions, "maxIterations">)
  | ({ readonly kind: "tot" } & Pick<TotOptions, "strategy" | "beam" | "candidates" | "maxThoughts">)
  | ({ readonly kind: "got" } & Pick<GotOptions, "adaptive" | "maxIterations">);

const STRATEGIES: readonly string[] = ["breadth", "depth"];

/** The agents that each option is for. */
const OPTIONS: { readonly [option: string]: readonly AgentKindName[] } = {
  "max-iterations": ["react", "got"],
  search: ["tot"],
  beam: ["tot"],
  candidates: ["tot"],
  "max-thoughts": ["tot"],
  adaptive: ["got"],
};
/** Of the command line, to be given again where a run is gone on with. */
export const AGENT_OPTIONS: readonly string[] = ["agent", ...Object.keys(OPTIONS)];

const MOST_ROUNDS = 1000;
const MOST_OF_A_LEVEL = 2000;
const MOST_THOUGHTS = 100_000;

export function readAgentChoice(parsed: ParsedCommand): AgentChoice {
  const kind = chooseOne("agent", textOption(parsed, "agent") ?? "react", AGENT_KINDS) as AgentKindName;
  for (const [option, kinds] of Object.entries(OPTIONS))
    if (parsed.options[option] !== undefined && !kinds.includes(kind))
      throw new CliError(`\`--${option}\` is not for \`--agent ${kind}\``, `it is for ${kinds.join(" and ")}`);
  const count = <K extends string>(key: K, option: string, most: number): { readonly [P in K]?: number } => {
    const given = textOption(parsed, option);
    return given === undefined ? {} : ({ [key]: readCount(option, given, most) } as { readonly [P in K]: number });
  };
  if (kind === "react") return { kind, ...count("maxIterations", "max-iterations", MOST_ROUNDS) };
  if (kind === "got") {
    const adaptive = parsed.options["adaptive"] === true;
    return { kind, ...(adaptive ? { adaptive } : {}), ...count("maxIterations", "max-iterations", MOST_ROUNDS) };
  }
  const search = textOption(parsed, "search");
  const strategy = search === undefined ? undefined : chooseOne("search", search, STRATEGIES);
  if (strategy === "depth" && parsed.options["beam"] !== undefined)
    throw new CliError("`--beam` is not for `--search depth`", "a search in depth follows one thought at a time");
  return {
    kind,
    ...(strategy === undefined ? {} : { strategy: strategy as "breadth" | "depth" }),
    ...count("beam", "beam", MOST_OF_A_LEVEL),
    ...count("candidates", "candidates", MOST_OF_A_LEVEL),
    ...count("maxThoughts", "max-thoughts", MOST_THOUGHTS),
  };
}

/** What an agent says of its options, in the words of the command. */
export function nameOptions(message: string): string {
  return message.replaceAll(/`(\w+)`/g, (quoted, word: string) => {
    const option = word === "strategy" ? "search" : word.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    return OPTIONS[option] === undefined ? quoted : `\`--${option}\``;
  });
}

export function chooseOne(option: string, value: string, known: readonly string[]): string {
  if (known.includes(value)) return value;
  throw new CliError(`\`--${option} ${value}\` is not known`, `choose one of ${known.join(", ")}`);
}

function readCount(option: string, given: string, most: number): number {
  const count = /^\d+$/.test(given) ? Number(given) : 0;
  if (count >= 1 && count <= most) return count;
  throw new CliError(`\`--${option} ${given}\` is not a number from 1 to ${most}`);
}
