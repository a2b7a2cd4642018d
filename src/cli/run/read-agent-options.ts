/** Reads the options of `loom run` that choose and configure the agent. Rejects options of other agents. */
import type { Agent, GotOptions, ReactOptions, TotOptions } from "../../agents/index.ts";
import { CliError, type ParsedCommand, textOption } from "../command.ts";
import type { LoadedAgents } from "../load-agents.ts";
import { BUILT_IN_AGENTS, type BuiltInAgent, findItemOf, readStrategyOptions } from "../strategy-items.ts";

/** Options given by the user; the agent has defaults for the others. */
export type RunAgentOptions =
  | ({ readonly kind: "react" } & Pick<ReactOptions, "maxIterations">)
  | ({ readonly kind: "tot" } & TotOptions)
  | ({ readonly kind: "got" } & GotOptions)
  /** An agent of `--agents`. */
  | { readonly kind: "own"; readonly name: string; readonly agent: Agent };

/** False for the name of an agent of `--agents`. */
export function isBuiltIn(name: string): boolean {
  return (BUILT_IN_AGENTS as readonly string[]).includes(name);
}

/** Options of all built-in agents. */
export const RESOURCE_OPTIONS: readonly string[] =
  "set model base-url reasoning system workspace mcp allow-fetch kb retrieve".split(" ");

/** `own`: the agents of `--agents`. */
export function readAgentOptions(parsed: ParsedCommand, own: LoadedAgents = {}): RunAgentOptions {
  const known = [...new Set([...Object.keys(own), ...BUILT_IN_AGENTS])];
  const [first = "react"] = Object.keys(own);
  const chosen = readChoice("agent", textOption(parsed, "agent") ?? first, known);
  const served = Object.hasOwn(own, chosen) ? own[chosen] : undefined;
  if (served === undefined) return readBuiltInAgent(parsed, chosen as BuiltInAgent);
  assertNoOtherOptions(parsed, chosen);
  return { kind: "own", name: chosen, agent: served.agent };
}

function assertNoOtherOptions(parsed: ParsedCommand, name: string): void {
  for (const flag of RESOURCE_OPTIONS)
    if (parsed.options[flag] !== undefined)
      throw new CliError(
        `\`--${flag}\` does not apply to \`--agent ${name}\`, an agent of \`--agents\``,
        "set it in the module, or choose a built-in agent with `--agent`",
      );
}

function readBuiltInAgent(parsed: ParsedCommand, name: BuiltInAgent): RunAgentOptions {
  const kind = name === "agot" ? { kind: "got", adaptive: true } : { kind: name };
  return { ...kind, ...readSettings(parsed)[name] } as RunAgentOptions;
}

function readSettings(parsed: ParsedCommand): ReturnType<typeof readStrategyOptions> {
  return readStrategyOptions(textOption(parsed, "set"));
}

/** Throws a CliError if `--set` has settings of another agent than the one that runs. */
export function assertSettingsApply(parsed: ParsedCommand, chosen: RunAgentOptions): void {
  const name = nameAgent(chosen);
  const items = textOption(parsed, "set")?.split(",") ?? [];
  const other = items.map((item) => item.trim()).find((item) => !item.startsWith(`${name}.`));
  if (other !== undefined)
    throw new CliError(
      `\`--set ${other}\` does not apply to \`--agent ${name}\``,
      `choose its agent with \`--agent ${other.split(".", 1).join("")}\``,
    );
}

/** The name of the agent in `run_start`. */
export function nameAgent(options: RunAgentOptions): string {
  if (options.kind === "own") return options.name;
  return options.kind === "got" && options.adaptive === true ? "agot" : options.kind;
}

/** Options of models and streams in error messages, with their flags. */
const OTHER_FLAGS: { readonly [key: string]: string } = { baseURL: "--base-url", dialect: "--dialect" };

/** Replaces option names of the API in an error message with flags and names of settings. */
export function toFlagNames(message: string): string {
  // Keys are not options, because other users can see the arguments of a process.
  return message.replace(" or `apiKey`", "").replaceAll(/`(\w+)`/g, (quoted, word: string) => {
    const flag = OTHER_FLAGS[word] ?? findItemOf(word);
    return flag === undefined ? quoted : `\`${flag}\``;
  });
}

export function readChoice(option: string, value: string, known: readonly string[]): string {
  if (known.includes(value)) return value;
  throw new CliError(`\`--${option}\` does not accept \`${value}\``, `choose one of ${known.join(", ")}`);
}
