/** The strategy settings that the user chose for an agent, such as the beam of `tot`. They apply to every message. */
import type { AgentOption, ListedAgent } from "./agents.ts";

/** What a message may choose for an agent. */
export type AgentSetting = NonNullable<ListedAgent["settings"]>[number];

/** Values by name. */
export type Strategy = { readonly [name: string]: string | number };

/** Values by name of the agent, without its model. */
export type Strategies = { readonly [agent: string]: Strategy };

/** Returns the chosen values that the server accepts. It may have other caps by now. */
export function findStrategy(
  { option, agent }: { readonly option: AgentOption; readonly agent: ListedAgent },
  strategies: Strategies = {},
): Strategy {
  const chosen = Object.hasOwn(strategies, option.name) ? strategies[option.name] : undefined;
  const known = new Map((agent.settings ?? []).map((setting) => [setting.name, setting]));
  return Object.fromEntries(
    Object.entries(chosen ?? {}).filter(([name, value]) => {
      const setting = known.get(name);
      return setting !== undefined && isAccepted(setting, value);
    }),
  );
}

/** Whether a message may have this value. */
export function isAccepted({ values, least, most, is_fraction }: AgentSetting, value: unknown): boolean {
  if (values !== undefined) return values.some((word) => word === value);
  if (typeof value !== "number" || least === undefined || most === undefined) return false;
  return value >= least && value <= most && (is_fraction === true || Number.isInteger(value));
}

/** Returns the choices of a user with one changed; undefined removes it. */
export function changeStrategy(
  strategies: Strategies | undefined,
  agent: string,
  name: string,
  value: string | number | undefined,
): Strategies {
  const { [name]: _before, ...others } = strategies?.[agent] ?? {};
  return { ...strategies, [agent]: value === undefined ? others : { ...others, [name]: value } };
}

/** Reads stored choices. */
export function readStrategies(stored: unknown): { readonly strategies?: Strategies } {
  if (typeof stored !== "object" || stored === null) return {};
  const read = Object.entries(stored).flatMap(([agent, values]): [string, Strategy][] => {
    if (typeof values !== "object" || values === null) return [];
    const kept = Object.entries(values as { readonly [name: string]: unknown }).filter(
      ([, value]) => typeof value === "string" || typeof value === "number",
    );
    return kept.length === 0 ? [] : [[agent, Object.fromEntries(kept) as Strategy]];
  });
  return read.length === 0 ? {} : { strategies: Object.fromEntries(read) };
}
