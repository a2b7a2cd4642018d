/**
 * The settings with which an operator and a message choose how an agent searches. Each is declared once, with the
 * agents that have it, what it accepts, its default and its cap. Agent options, `loom serve --set`, fields of messages,
 * caps, docs and the controls of the page are derived from here.
 *
 * Invariant: a setting that is unknown, wrong, or above its cap is refused with its name; it is never cut or ignored.
 */
import { findNearest } from "./find-nearest.ts";
import { dropMissing, dropUndefined } from "./drop-undefined.ts";
import { ADAPTIVE } from "./agent-kinds.ts";
import { isJsonObject } from "./json.ts";
import { LoomError } from "./loom-error.ts";
import type { LocalizedText } from "./schema.ts";
import { acceptInteger, acceptNumber, acceptOneOf, type OptionRule, readOptions } from "./read-options.ts";

/** What a setting is in one kind of agent. */
export interface SettingUse {
  /** The option of the agent that it sets. */
  readonly option: string;
  /** The accepted words, or the range of a number: an integer unless `isFraction`. */
  readonly words?: readonly string[];
  readonly range?: readonly [least: number, most: number];
  readonly isFraction?: boolean;
  /** The default; a text describes one that depends on other settings. */
  readonly defaultValue: string | number;
  /** Highest value that a message may choose, unless the operator says otherwise. Only if it multiplies the cost. */
  readonly cap?: number;
}

interface StrategySetting {
  readonly label: LocalizedText;
  readonly about: LocalizedText;
  /** By agent: `tot`, `got` and `agot`, which is adaptive `got`. */
  readonly uses: { readonly [agent in StrategyAgent]?: SettingUse };
}

/** The agents that have such settings. */
export const STRATEGY_AGENTS = ["tot", "got", ADAPTIVE] as const;
export type StrategyAgent = (typeof STRATEGY_AGENTS)[number];

const RESULTS = { option: "branches", range: [1, 20], defaultValue: 1, cap: 5 } as const;
const LAYERS = { option: "maxLayers", range: [1, 50], defaultValue: 1, cap: 5 } as const;

export const STRATEGY_SETTINGS = {
  search: {
    label: { en: "Search", zh: "搜索方式" },
    about: {
      en: "`breadth` continues with the best thoughts of each level, `depth` with the best one",
      zh: "`breadth` 从每层最好的若干想法继续，`depth` 只从最好的一个继续",
    },
    uses: { tot: { option: "strategy", words: ["breadth", "depth"], defaultValue: "breadth" } },
  },
  generator: {
    label: { en: "Generator", zh: "生成方式" },
    about: {
      en: "`propose` lists all candidates in one model call, `sample` makes one call per candidate",
      zh: "`propose` 用一次模型调用列出所有候选，`sample` 每个候选调用一次",
    },
    uses: { tot: { option: "generate", words: ["propose", "sample"], defaultValue: "propose" } },
  },
  evaluator: {
    label: { en: "Evaluator", zh: "评估方式" },
    about: {
      en: "`value` rates each thought, `vote` compares the thoughts of a level",
      zh: "`value` 为每个想法评分，`vote` 比较同一层的想法",
    },
    uses: { tot: { option: "evaluate", words: ["value", "vote"], defaultValue: "value" } },
  },
  samples: {
    label: { en: "Samples", zh: "评估次数" },
    about: { en: "Model calls per rating", zh: "每次评估的模型调用次数" },
    uses: { tot: { option: "evaluations", range: [1, 100], defaultValue: "1; vote: 3", cap: 5 } },
  },
  threshold: {
    label: { en: "Threshold", zh: "阈值" },
    about: { en: "Lowest score that is not a dead end", zh: "低于此分数的想法不再继续" },
    uses: { tot: { option: "threshold", range: [0, 1], isFraction: true, defaultValue: "0.05; depth: 0.3" } },
  },
  beam: {
    label: { en: "Beam", zh: "束宽" },
    about: { en: "Thoughts per level that are continued, with `breadth`", zh: "`breadth` 每层继续的想法数" },
    uses: { tot: { option: "beam", range: [1, 2000], defaultValue: 5, cap: 10 } },
  },
  candidates: {
    label: { en: "Candidates", zh: "候选数" },
    about: { en: "Candidates per thought, or results per task", zh: "每个想法的候选数，或每个任务的结果数" },
    uses: {
      tot: { option: "candidates", range: [1, 2000], defaultValue: "16; sample: 5", cap: 20 },
      got: RESULTS,
      agot: RESULTS,
    },
  },
  depth: {
    label: { en: "Depth", zh: "深度" },
    about: {
      en: "Maximum depth of the tree, or of nested expansions",
      zh: "树的最大深度，或嵌套展开的最大深度",
    },
    uses: {
      tot: { option: "maxDepth", range: [1, 100], defaultValue: 8, cap: 12 },
      agot: { option: "maxDepth", range: [0, 5], defaultValue: 2, cap: 3 },
    },
  },
  backtracks: {
    label: { en: "Backtracks", zh: "回溯次数" },
    about: { en: "Maximum number of backtracks; 0 turns them off", zh: "最多回溯次数；0 表示不回溯" },
    uses: { tot: { option: "maxBacktracks", range: [0, 100_000], defaultValue: 20, cap: 50 } },
  },
  layers: {
    label: { en: "Layers", zh: "层数" },
    about: { en: "Maximum layers of a plan", zh: "计划的最大层数" },
    uses: { got: LAYERS, agot: LAYERS },
  },
} as const satisfies { readonly [name: string]: StrategySetting };

export type StrategySettingName = keyof typeof STRATEGY_SETTINGS;
export const STRATEGY_SETTING_NAMES = Object.keys(STRATEGY_SETTINGS) as readonly StrategySettingName[];

/** Values of strategy settings by name. */
export type StrategySettings = { readonly [name in StrategySettingName]?: string | number };

/** The highest values that messages may choose, by name. */
export type StrategyCaps = { readonly [name in StrategySettingName]?: number };

/** A setting of an agent, for the endpoint that lists agents. */
export interface StrategySettingInfo {
  readonly name: StrategySettingName;
  readonly label: LocalizedText;
  readonly about: LocalizedText;
  /** The value of the agent. Absent if it depends on other settings. */
  readonly value?: string | number;
  readonly values?: readonly string[];
  readonly least?: number;
  /** The highest number that a message may choose. */
  readonly most?: number;
  readonly is_fraction?: boolean;
}

/** What the operator decides: the highest values of messages, and the agent's own values. */
export interface StrategyLimits {
  readonly caps?: StrategyCaps | undefined;
  readonly own?: StrategySettings | undefined;
}

export function isStrategyAgent(name: string): name is StrategyAgent {
  return (STRATEGY_AGENTS as readonly string[]).includes(name);
}

/** Returns how an agent uses a setting; undefined if it does not have it. */
export function findSettingUse(agent: StrategyAgent, name: string): SettingUse | undefined {
  if (!Object.hasOwn(STRATEGY_SETTINGS, name)) return undefined;
  const { uses }: StrategySetting = STRATEGY_SETTINGS[name as StrategySettingName];
  return uses[agent];
}

/** Names of the settings of an agent. */
export function listSettingNames(agent: StrategyAgent): readonly StrategySettingName[] {
  return STRATEGY_SETTING_NAMES.filter((name) => findSettingUse(agent, name) !== undefined);
}

/** The rule for the values of a setting. */
export function ruleOfSetting<Value extends string | number>(use: SettingUse): OptionRule<Value> {
  const { words, range: [least, most] = [0, 0], isFraction } = use;
  const rule = words === undefined ? (isFraction ? acceptNumber : acceptInteger)(least, most) : acceptOneOf(words);
  return rule as OptionRule<Value>;
}

const AS_SETTINGS = { path: "strategy", code: "invalid_command", noun: "setting" } as const;

const ANY_VALUE: OptionRule<string | number> = {
  expected: "a string or a number",
  accepts: (value) => typeof value === "string" || typeof value === "number",
};

/**
 * Reads the settings of a command or record, of any agent. Undefined if there are none. Throws `invalid_command` for an
 * unknown name, and for a value that is neither a string nor a number.
 */
export function readStrategySettings(value: unknown): StrategySettings | undefined {
  if (value == null) return undefined;
  const rules = Object.fromEntries(STRATEGY_SETTING_NAMES.map((name) => [name, ANY_VALUE]));
  const settings = readOptions(rules, isJsonObject(value) ? dropMissing(value) : value, AS_SETTINGS);
  return Object.keys(settings).length === 0 ? undefined : settings;
}

/**
 * Throws `invalid_command` for a setting that the agent does not have, and for a value that it does not accept. `path` is
 * where the settings are given.
 */
export function checkStrategySettings(agent: StrategyAgent, settings: object, path: string = AS_SETTINGS.path): void {
  const names = listSettingNames(agent);
  const rules = Object.fromEntries(
    names.map((name) => [name, ruleOfSetting(findSettingUse(agent, name) as SettingUse)] as const),
  );
  const explain = (name: string): string | undefined => {
    const setting = `\`${path}.${name.slice(0, 60)}\``;
    if (Object.hasOwn(STRATEGY_SETTINGS, name))
      return `${setting} is not a setting of the agent ${agent}; its settings are ${names.join(", ")}`;
    if (findNearest(name, names) !== undefined) return undefined;
    return `Unknown setting ${setting}; the settings of the agent ${agent} are ${names.join(", ")}`;
  };
  readOptions(rules, settings, { ...AS_SETTINGS, path, explain });
}

/**
 * Returns the highest value of a setting that a message may choose; undefined if it has no cap. The operator's own
 * value raises the default cap.
 */
function findCap(
  agent: StrategyAgent,
  name: StrategySettingName,
  { caps = {}, own = {} }: StrategyLimits,
): number | undefined {
  const { cap } = findSettingUse(agent, name) ?? {};
  const { [name]: given } = own;
  return caps[name] ?? (cap === undefined ? undefined : Math.max(cap, typeof given === "number" ? given : 0));
}

/** Throws `invalid_command` with the cap for a value above it. */
export function checkCaps(agent: StrategyAgent, settings: StrategySettings, limits: StrategyLimits): void {
  for (const [name, value] of Object.entries(settings)) {
    const cap = findCap(agent, name as StrategySettingName, limits);
    if (cap === undefined || typeof value !== "number" || value <= cap) continue;
    const [option, nameOfCap] = [`strategy.${name}`, `${agent}.${name}`];
    const message = `\`${option}\` is ${value}; this server allows at most ${cap} (its cap \`${nameOfCap}\`)`;
    throw new LoomError("invalid_command", message, { option, cap: nameOfCap, limit: cap });
  }
}

/** Lists the settings of an agent with what a message may choose. */
export function describeSettings(agent: StrategyAgent, limits: StrategyLimits): readonly StrategySettingInfo[] {
  return listSettingNames(agent).map((name) => {
    const { words, range, isFraction, defaultValue } = findSettingUse(agent, name) as SettingUse;
    const fixed = words !== undefined || typeof defaultValue === "number" ? defaultValue : undefined;
    const value = limits.own?.[name] ?? fixed;
    const { label, about } = STRATEGY_SETTINGS[name];
    return dropUndefined({
      name,
      label,
      about,
      value,
      values: words,
      ...(range === undefined ? {} : { least: range[0], most: findCap(agent, name, limits) ?? range[1] }),
      ...(isFraction === true ? { is_fraction: true } : {}),
    });
  });
}

/** Returns the options of an agent that the settings stand for. Settings of other agents are left out. */
export function toAgentOptions(agent: StrategyAgent, settings: StrategySettings = {}): { [option: string]: unknown } {
  const entries = Object.entries(settings).flatMap(([name, value]) => {
    const use = findSettingUse(agent, name);
    return use === undefined ? [] : [[use.option, value] as const];
  });
  return Object.fromEntries(entries);
}

/** The reverse of `toAgentOptions`: the settings that the options of an agent contain. */
export function toStrategySettings(
  agent: StrategyAgent,
  options: { readonly [option: string]: unknown },
): StrategySettings {
  const entries = listSettingNames(agent).flatMap((name) => {
    const value = options[findSettingUse(agent, name)?.option ?? ""];
    return typeof value === "string" || typeof value === "number" ? [[name, value] as const] : [];
  });
  return Object.fromEntries(entries);
}
