/** Reads the options of `loom run` that choose and configure the agent. Rejects options of other agents. */
import type { Agent, GotOptions, ReactOptions, TotOptions } from "../../agents/index.ts";
import { type CliCommand, CliError, type ParsedCommand, textOption } from "../command.ts";
import type { LoadedAgents } from "../load-agents.ts";

/** Options given by the user; the agent has defaults for the others. */
export type RunAgentOptions =
  | ({ readonly kind: "react" } & Pick<ReactOptions, "maxIterations">)
  | ({ readonly kind: "tot" } & TotOptions)
  | ({ readonly kind: "got" } & GotOptions)
  /** An agent of `--agents`. */
  | { readonly kind: "own"; readonly name: string; readonly agent: Agent };

/** `agot` is a `got` agent with the option `adaptive`. */
export const BUILT_IN_AGENTS = ["react", "tot", "got", "agot"] as const;
type RunAgentName = (typeof BUILT_IN_AGENTS)[number];

/** False for the name of an agent of `--agents`. */
export function isBuiltIn(name: string): boolean {
  return (BUILT_IN_AGENTS as readonly string[]).includes(name);
}

interface AgentFlag {
  /** Name in the options of the agent. */
  readonly key: string;
  readonly agents: readonly RunAgentName[];
  /** Range of numbers; integers unless `isFraction`. The words of other options are those of the command. */
  readonly range?: readonly [least: number, most: number];
  readonly isFraction?: boolean;
}

const TOT = ["tot"] as const;
const GOT = ["got", "agot"] as const;

const OPTIONS: { readonly [flag: string]: AgentFlag } = {
  "max-iterations": { key: "maxIterations", agents: ["react", ...GOT], range: [1, 1000] },
  search: { key: "strategy", agents: TOT },
  beam: { key: "beam", agents: TOT, range: [1, 2000] },
  generator: { key: "generate", agents: TOT },
  candidates: { key: "candidates", agents: TOT, range: [1, 2000] },
  evaluator: { key: "evaluate", agents: TOT },
  samples: { key: "evaluations", agents: TOT, range: [1, 100] },
  threshold: { key: "threshold", agents: TOT, range: [0, 1], isFraction: true },
  "max-depth": { key: "maxDepth", agents: ["tot", ...GOT], range: [0, 100] },
  "max-backtracks": { key: "maxBacktracks", agents: TOT, range: [0, 100_000] },
  "max-thoughts": { key: "maxThoughts", agents: TOT, range: [1, 100_000] },
  adaptive: { key: "adaptive", agents: GOT },
  branches: { key: "branches", agents: GOT, range: [1, 20] },
  "keep-best": { key: "keepBest", agents: GOT, range: [1, 20] },
  improvements: { key: "improvements", agents: GOT, range: [0, 20] },
  "good-score": { key: "goodScore", agents: GOT, range: [0, 1], isFraction: true },
  "max-layers": { key: "maxLayers", agents: GOT, range: [1, 50] },
};
/** Options to repeat when a run is resumed. */
export const AGENT_OPTIONS: readonly string[] = ["agents", "agent", ...Object.keys(OPTIONS)];
/** Options of all built-in agents. */
const RESOURCE_OPTIONS = "model base-url reasoning system workspace mcp allow-fetch kb no-kb retrieve".split(" ");

/** `own`: the agents of `--agents`. */
export function readAgentOptions(parsed: ParsedCommand, own: LoadedAgents = {}): RunAgentOptions {
  const known = [...new Set([...Object.keys(own), ...BUILT_IN_AGENTS])];
  const [first = "react"] = Object.keys(own);
  const chosen = readChoice("agent", textOption(parsed, "agent") ?? first, known);
  const served = Object.hasOwn(own, chosen) ? own[chosen] : undefined;
  if (served === undefined) return readBuiltInAgent(parsed, chosen as RunAgentName);
  assertNoOtherOptions(parsed, chosen);
  return { kind: "own", name: chosen, agent: served.agent };
}

function assertNoOtherOptions(parsed: ParsedCommand, name: string): void {
  for (const flag of [...RESOURCE_OPTIONS, ...Object.keys(OPTIONS)])
    if (parsed.options[flag] !== undefined)
      throw new CliError(
        `\`--${flag}\` does not apply to \`--agent ${name}\`, an agent of \`--agents\``,
        "set it in the module, or choose a built-in agent with `--agent`",
      );
}

function readBuiltInAgent(parsed: ParsedCommand, name: RunAgentName): RunAgentOptions {
  const options: { [key: string]: unknown } = name === "agot" ? { kind: "got", adaptive: true } : { kind: name };
  for (const [flag, option] of Object.entries(OPTIONS)) {
    const given = parsed.options[flag];
    if (given === undefined || given === false) continue;
    if (!option.agents.includes(name))
      throw new CliError(
        `\`--${flag}\` does not apply to \`--agent ${name}\``,
        `it applies to ${option.agents.join(" and ")}`,
      );
    options[option.key] = given === true ? true : readValue(flag, given, option, parsed.command);
  }
  if (options["strategy"] === "depth" && options["beam"] !== undefined)
    throw new CliError(
      "`--beam` does not apply to `--search depth`",
      "a depth-first search follows one thought at a time",
    );
  return options as unknown as RunAgentOptions;
}

/** The name of the agent in `run_start`. */
export function nameAgent(options: RunAgentOptions): string {
  if (options.kind === "own") return options.name;
  return options.kind === "got" && options.adaptive === true ? "agot" : options.kind;
}

/** Options of models and streams in error messages, with their flags. */
const OTHER_FLAGS: { readonly [key: string]: string } = { baseURL: "base-url", dialect: "dialect" };

/** Replaces option names of the API in an error message with flag names. */
export function toFlagNames(message: string): string {
  // Keys are not options, because other users can see the arguments of a process.
  return message.replace(" or `apiKey`", "").replaceAll(/`(\w+)`/g, (quoted, word: string) => {
    const flag = Object.entries(OPTIONS).find(([, { key }]) => key === word)?.[0] ?? OTHER_FLAGS[word];
    return flag === undefined ? quoted : `\`--${flag}\``;
  });
}

export function readChoice(option: string, value: string, known: readonly string[]): string {
  if (known.includes(value)) return value;
  throw new CliError(`\`--${option}\` does not accept \`${value}\``, `choose one of ${known.join(", ")}`);
}

function readValue(
  flag: string,
  given: string,
  { range, isFraction = false }: AgentFlag,
  { options }: CliCommand,
): string | number {
  const { choices } = options[flag] ?? {};
  if (choices !== undefined) return readChoice(flag, given, choices);
  const [least, most] = range ?? [0, Number.MAX_SAFE_INTEGER];
  const pattern = isFraction ? /^(?:\d+(?:\.\d+)?|\.\d+)$/ : /^\d+$/;
  const value = pattern.test(given) ? Number(given) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new CliError(`\`--${flag} ${given}\` is not a number from ${least} to ${most}`);
}
