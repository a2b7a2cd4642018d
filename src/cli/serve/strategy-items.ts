/**
 * Reads the settings `set` and `caps`: `tot.beam=5` is the value, or the highest value in a message, of a strategy
 * setting of the built-in agent `tot`. Later items replace earlier ones.
 */
import { findNearest } from "../../protocol/find-nearest.ts";
import { isLoomError } from "../../protocol/index.ts";
import {
  checkStrategySettings,
  findSettingUse,
  isStrategyAgent,
  listSettingNames,
  STRATEGY_AGENTS,
  type StrategyAgent,
  type StrategyCaps,
  type StrategySettings,
} from "../../protocol/strategy-settings.ts";
import { listOf, type SettingKind } from "./setting.ts";

type ItemValues = { readonly [name: string]: string | number };

/** Thrown to say what is wrong with an item. */
class StrategyItemFault extends Error {}

const ITEM = /^(?<agent>\w+)\.(?<name>[\w-]+)=(?<value>.+)$/;

function readItem(item: string, isCap: boolean): { readonly agent: StrategyAgent; readonly values: ItemValues } {
  const { agent = "", name = "", value: given = "" } = ITEM.exec(item)?.groups ?? {};
  if (agent === "") throw new StrategyItemFault(`\`${item.slice(0, 60)}\` must have the form AGENT.SETTING=VALUE`);
  if (!isStrategyAgent(agent)) {
    const nearest = findNearest(agent, STRATEGY_AGENTS);
    const hint =
      nearest === undefined ? `the agents are ${STRATEGY_AGENTS.join(", ")}` : `did you mean \`${nearest}\`?`;
    throw new StrategyItemFault(`no agent \`${agent.slice(0, 60)}\` has strategy settings; ${hint}`);
  }
  const use = findSettingUse(agent, name);
  const value = use?.words === undefined && /^(?:\d+(?:\.\d+)?|\.\d+)$/.test(given) ? Number(given) : given;
  const values = { [name]: value };
  try {
    checkStrategySettings(agent, values, agent);
  } catch (error) {
    throw isLoomError(error) ? new StrategyItemFault(error.message) : error;
  }
  if (isCap && use?.cap === undefined) {
    const capped = listSettingNames(agent).filter((each) => findSettingUse(agent, each)?.cap !== undefined);
    throw new StrategyItemFault(`\`${agent}.${name}\` has no cap; the settings with a cap are ${capped.join(", ")}`);
  }
  return { agent, values };
}

function collect(items: readonly string[], isCap: boolean): { readonly [agent in StrategyAgent]?: ItemValues } {
  const found: { [agent in StrategyAgent]?: ItemValues } = {};
  for (const item of items) {
    const { agent, values } = readItem(item, isCap);
    found[agent] = { ...found[agent], ...values };
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

/** The values of the setting `set`, by agent. */
export function collectValues(items: readonly string[]): { readonly [agent in StrategyAgent]?: StrategySettings } {
  return collect(items, false);
}

/** The values of the setting `caps`, by agent. */
export function collectCaps(items: readonly string[]): { readonly [agent in StrategyAgent]?: StrategyCaps } {
  return collect(items, true);
}
