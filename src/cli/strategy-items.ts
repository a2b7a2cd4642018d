/**
 * Reads the items of `--set` and `--caps`: `tot.beam=5` is the value, or the highest value in a message, of a setting of
 * the built-in agent `tot`. Later items replace earlier ones.
 */
import { findNearest } from "../protocol/find-nearest.ts";
import { describeValue } from "../protocol/fault.ts";
import {
  findSettingUse,
  isStrategyAgent,
  listSettingNames,
  ruleOfSetting,
  type SettingUse,
  STRATEGY_AGENTS,
  STRATEGY_SETTINGS,
  type StrategyAgent,
  type StrategyCaps,
  type StrategySettingName,
} from "../protocol/strategy-settings.ts";
import { CliError } from "./command.ts";
import { listOf, type SettingKind } from "./serve/setting.ts";

/** `agot` is a `got` agent with the option `adaptive`. */
export const BUILT_IN_AGENTS = ["react", ...STRATEGY_AGENTS] as const;
export type BuiltInAgent = (typeof BUILT_IN_AGENTS)[number];

interface OperatorSetting extends SettingUse {
  readonly about: string;
}

type ItemValues = { readonly [name: string]: string | number };
type AgentValues = { readonly [agent in BuiltInAgent]?: ItemValues };

/** Thrown to say what is wrong with an item. */
class StrategyItemFault extends Error {}

function number(
  option: string,
  range: readonly [number, number],
  defaultValue: number,
  about: string,
): OperatorSetting {
  return { option, range, defaultValue, about };
}

const GOT_SETTINGS = {
  iterations: number("maxIterations", [1, 1000], 10, "Maximum rounds of tool calls of a task"),
  "keep-best": number("keepBest", [1, 20], 1, "Results of a task kept after scoring"),
  improvements: number("improvements", [0, 20], 0, "Rounds of improvement until a result reaches `good-score`"),
  "good-score": { ...number("goodScore", [0, 1], 0.8, "Score that needs no improvement"), isFraction: true },
};

/** The settings that a message cannot choose. */
const OPERATOR_SETTINGS: { readonly [agent in BuiltInAgent]: { readonly [name: string]: OperatorSetting } } = {
  react: { iterations: number("maxIterations", [1, 1000], 25, "Maximum iterations") },
  tot: { thoughts: number("maxThoughts", [1, 100_000], 1000, "Maximum thoughts of the tree") },
  got: GOT_SETTINGS,
  agot: GOT_SETTINGS,
};

function findUse(agent: BuiltInAgent, name: string): SettingUse | undefined {
  const { [agent]: own } = OPERATOR_SETTINGS;
  if (Object.hasOwn(own, name)) return own[name];
  return isStrategyAgent(agent) ? findSettingUse(agent, name) : undefined;
}

function listNames(agent: BuiltInAgent): readonly string[] {
  return [...(isStrategyAgent(agent) ? listSettingNames(agent) : []), ...Object.keys(OPERATOR_SETTINGS[agent])];
}

/** The names of all settings, such as `tot.beam`. */
export const STRATEGY_ITEM_NAMES: readonly string[] = BUILT_IN_AGENTS.flatMap((agent) =>
  listNames(agent).map((name) => `${agent}.${name}`),
);

/** The settings for help texts. Those of `agot` are left out where they are those of `got`. */
export function listStrategyItems(): readonly { readonly name: string; readonly about: string }[] {
  return BUILT_IN_AGENTS.flatMap((agent) =>
    listNames(agent)
      .filter((name) => agent !== "agot" || findUse("got", name) === undefined)
      .map((name) => {
        const use = findUse(agent, name) as SettingUse;
        const about = OPERATOR_SETTINGS[agent][name]?.about ?? STRATEGY_SETTINGS[name as StrategySettingName].about.en;
        const limits = `${ruleOfSetting(use).expected}; default: ${use.defaultValue}`;
        return { name: `${agent}.${name}`, about: `${about.replaceAll("`", "")} (${limits})` };
      }),
  );
}

/** Returns the setting that sets an option of an agent, such as `tot.search` for `strategy`. */
export function findItemOf(option: string): string | undefined {
  return STRATEGY_ITEM_NAMES.find((item) => {
    const [agent = "", name = ""] = item.split(".");
    return findUse(agent as BuiltInAgent, name)?.option === option;
  });
}

const ITEM = /^(?<agent>\w+)\.(?<name>[\w-]+)=(?<value>.+)$/;

interface StrategyItem {
  readonly agent: BuiltInAgent;
  readonly name: string;
  readonly value: string | number;
}

function readItem(item: string, isCap: boolean): StrategyItem {
  const { agent: given = "", name = "", value: text = "" } = ITEM.exec(item)?.groups ?? {};
  if (given === "") throw new StrategyItemFault(`\`${item.slice(0, 60)}\` must have the form AGENT.SETTING=VALUE`);
  const agent = BUILT_IN_AGENTS.find((each) => each === given);
  if (agent === undefined) {
    const nearest = findNearest(given, BUILT_IN_AGENTS);
    const hint =
      nearest === undefined ? `the agents are ${BUILT_IN_AGENTS.join(", ")}` : `did you mean \`${nearest}\`?`;
    throw new StrategyItemFault(`no agent \`${given.slice(0, 60)}\` has strategy settings; ${hint}`);
  }
  const use = findUse(agent, name);
  if (use === undefined) throw new StrategyItemFault(describeUnknown(agent, name));
  const { accepts, expected, words } = ruleOfSetting(use);
  const value = words === undefined && /^(?:\d+(?:\.\d+)?|\.\d+)$/.test(text) ? Number(text) : text;
  if (!accepts(value)) {
    const nearest = words === undefined || typeof value !== "string" ? undefined : findNearest(value, words);
    const hint = nearest === undefined ? "" : `; did you mean "${nearest}"?`;
    throw new StrategyItemFault(`\`${agent}.${name}\` must be ${expected}, not ${describeValue(value)}${hint}`);
  }
  if (isCap && use.cap === undefined) {
    const capped = listNames(agent).filter((each) => findUse(agent, each)?.cap !== undefined);
    const hint = capped.length === 0 ? "" : `; the settings with a cap are ${capped.join(", ")}`;
    throw new StrategyItemFault(`\`${agent}.${name}\` has no cap${hint}`);
  }
  return { agent, name, value };
}

function describeUnknown(agent: BuiltInAgent, name: string): string {
  const known = listNames(agent);
  const nearest = findNearest(name, known);
  if (nearest !== undefined)
    return `Unknown setting \`${agent}.${name.slice(0, 60)}\`; did you mean \`${agent}.${nearest}\`?`;
  return `\`${agent}.${name.slice(0, 60)}\` is not a setting of the agent ${agent}; its settings are ${known.join(", ")}`;
}

function collect(items: readonly string[], isCap: boolean): AgentValues {
  const found: { [agent in BuiltInAgent]?: ItemValues } = {};
  for (const item of items) {
    const { agent, name, value } = readItem(item, isCap);
    found[agent] = { ...found[agent], [name]: value };
  }
  return found;
}

function kindOf(isCap: boolean): SettingKind<readonly string[]> {
  const items = listOf(`settings such as tot.beam=5`, () => true);
  const fault = (given: unknown): string | undefined => {
    try {
      collect(items.read(given) ?? [], isCap);
      return undefined;
    } catch (error) {
      if (error instanceof StrategyItemFault) return error.message;
      throw error;
    }
  };
  return { ...items, read: (given) => (fault(given) === undefined ? items.read(given) : undefined), explain: fault };
}

export const valueItems = kindOf(false);
export const capItems = kindOf(true);

/** The caps that apply without the setting `caps`. */
export const DEFAULT_CAPS = STRATEGY_AGENTS.flatMap((agent) =>
  listSettingNames(agent).flatMap((name) => {
    const { cap } = findSettingUse(agent, name) ?? {};
    return cap === undefined ? [] : [`\`${agent}.${name}=${cap}\``];
  }),
).join(", ");

/** The values of the setting `set` as options of the agents. */
export function collectOptions(items: readonly string[]): AgentValues {
  const entries = Object.entries(collect(items, false)).map(([agent, values]) => {
    const optionOf = (name: string): string => findUse(agent as BuiltInAgent, name)?.option ?? name;
    return [agent, Object.fromEntries(Object.entries(values).map(([name, value]) => [optionOf(name), value]))] as const;
  });
  return Object.fromEntries(entries);
}

/** The values of the setting `caps`, by agent. */
export function collectCaps(items: readonly string[]): { readonly [agent in StrategyAgent]?: StrategyCaps } {
  return collect(items, true);
}

/** Reads the text of `--set` as options of the agents. Throws a CliError. */
export function readStrategyOptions(text: string | undefined): AgentValues {
  if (text === undefined) return {};
  const items = valueItems.read(text);
  if (items === undefined)
    throw new CliError(`--set: ${valueItems.explain?.(text) ?? `${text.slice(0, 60)} is not ${valueItems.expected}`}`);
  const options = collectOptions(items);
  if (options.tot?.["strategy"] === "depth" && options.tot["beam"] !== undefined)
    throw new CliError(
      "--set: `tot.beam` does not apply to `tot.search=depth`",
      "a depth-first search follows one thought at a time",
    );
  return options;
}
