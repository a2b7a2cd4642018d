/** Reads the options of `loom run` that choose and configure the agent. Rejects options of another kind of agent. */
import { AGENT_KINDS } from "../../agents/agent-kind.ts";
import type { AgentKindName, GotOptions, ReactOptions, TotOptions } from "../../agents/index.ts";
import { CliError, type ParsedCommand, textOption } from "../command.ts";

/** Options given by the user; the agent has defaults for the others. */
export type RunAgentOptions =
  | ({ readonly kind: "react" } & Pick<ReactOptions, "maxIterations">)
  | ({ readonly kind: "tot" } & Pick<TotOptions, "strategy" | "beam" | "candidates" | "maxThoughts">)
  | ({ readonly kind: "got" } & Pick<GotOptions, "adaptive" | "maxIterations">);

const STRATEGIES: readonly string[] = ["breadth", "depth"];

/** Kinds of agents that accept each option. */
const KINDS_BY_OPTION: { readonly [option: string]: readonly AgentKindName[] } = {
  "max-iterations": ["react", "got"],
  search: ["tot"],
  beam: ["tot"],
  candidates: ["tot"],
  "max-thoughts": ["tot"],
  adaptive: ["got"],
};
/** Options to repeat when a run is resumed. */
export const AGENT_OPTIONS: readonly string[] = ["agent", ...Object.keys(KINDS_BY_OPTION)];

const MAX_ITERATIONS = 1000;
const MAX_LEVEL_THOUGHTS = 2000;
const MAX_THOUGHTS = 100_000;

export function readAgentOptions(parsed: ParsedCommand): RunAgentOptions {
  const kind = readChoice("agent", textOption(parsed, "agent") ?? "react", AGENT_KINDS) as AgentKindName;
  for (const [option, kinds] of Object.entries(KINDS_BY_OPTION))
    if (parsed.options[option] !== undefined && !kinds.includes(kind))
      throw new CliError(
        `\`--${option}\` does not apply to \`--agent ${kind}\``,
        `it applies to ${kinds.join(" and ")}`,
      );
  const count = <K extends string>(key: K, option: string, most: number): { readonly [P in K]?: number } => {
    const given = textOption(parsed, option);
    return given === undefined ? {} : ({ [key]: readCount(option, given, most) } as { readonly [P in K]: number });
  };
  if (kind === "react") return { kind, ...count("maxIterations", "max-iterations", MAX_ITERATIONS) };
  if (kind === "got") {
    const adaptive = parsed.options["adaptive"] === true;
    return { kind, ...(adaptive ? { adaptive } : {}), ...count("maxIterations", "max-iterations", MAX_ITERATIONS) };
  }
  const search = textOption(parsed, "search");
  const strategy = search === undefined ? undefined : readChoice("search", search, STRATEGIES);
  if (strategy === "depth" && parsed.options["beam"] !== undefined)
    throw new CliError(
      "`--beam` does not apply to `--search depth`",
      "a depth-first search follows one thought at a time",
    );
  return {
    kind,
    ...(strategy === undefined ? {} : { strategy: strategy as "breadth" | "depth" }),
    ...count("beam", "beam", MAX_LEVEL_THOUGHTS),
    ...count("candidates", "candidates", MAX_LEVEL_THOUGHTS),
    ...count("maxThoughts", "max-thoughts", MAX_THOUGHTS),
  };
}

/** Replaces option names of the agent API in an error message with flag names. */
export function toFlagNames(message: string): string {
  return message.replaceAll(/`(\w+)`/g, (quoted, word: string) => {
    const option = word === "strategy" ? "search" : word.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    return KINDS_BY_OPTION[option] === undefined ? quoted : `\`--${option}\``;
  });
}

export function readChoice(option: string, value: string, known: readonly string[]): string {
  if (known.includes(value)) return value;
  throw new CliError(`\`--${option}\` does not accept \`${value}\``, `choose one of ${known.join(", ")}`);
}

function readCount(option: string, given: string, most: number): number {
  const count = /^\d+$/.test(given) ? Number(given) : 0;
  if (count >= 1 && count <= most) return count;
  throw new CliError(`\`--${option} ${given}\` is not a number from 1 to ${most}`);
}
