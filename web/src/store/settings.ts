/** User settings in browser storage. Stored values are validated: they may come from another version. */
import type { ReasoningLevel } from "loom-agent/protocol";
import type { UiLanguage } from "loom-agent/react";
import { readStrategies, type Strategies } from "./strategy.ts";
import type { ModelPrice, ModelPrices } from "../inspector/prices.ts";

export type Theme = "system" | "light" | "dark";
export type SendKey = "enter" | "ctrl-enter";

export interface PageSettings {
  readonly language: UiLanguage;
  readonly theme: Theme;
  /** The session list is shown beside the conversation on wide screens. */
  readonly hasSidebar: boolean;
  /** Notify the user about runs in the background. The browser must have agreed. */
  readonly hasNotifications?: boolean;
  /** Key that sends a message. Default: `enter`. */
  readonly sendKey?: SendKey;
  /** No animations, whatever the system prefers. */
  readonly hasReducedMotion?: boolean;
  /** Kind and model of the chosen agent; undefined: the server's default. */
  readonly kind?: string;
  readonly model?: string;
  /** How much the model reasons; undefined: the server's default. */
  readonly reasoning?: ReasoningLevel;
  /** Strategy settings of agents; what is absent has the server's default. */
  readonly strategies?: Strategies;
  /** Prices of models, for the cost of runs. Default: none. */
  readonly prices?: ModelPrices;
}

export const REASONING_LEVELS = ["auto", "off", "low", "medium", "high"] as const satisfies readonly ReasoningLevel[];

/** `theme.js` reads this key too, before the first paint. */
export const SETTINGS_KEY = "loom.settings";

export type KeyValueStorage = Pick<Storage, "getItem" | "setItem">;

/** Returns the stored settings. `preferred` is the language of the browser. */
export function readSettings(storage: KeyValueStorage | undefined, preferred: UiLanguage): PageSettings {
  const stored = readStored(storage);
  const { language, theme, hasSidebar, kind, model, reasoning } = stored;
  const { hasNotifications, sendKey, hasReducedMotion, prices, strategies } = stored;
  const level = REASONING_LEVELS.find((one) => one === reasoning);
  return {
    language: language === "en" || language === "zh" ? language : preferred,
    theme: theme === "light" || theme === "dark" ? theme : "system",
    hasSidebar: hasSidebar !== false,
    ...(hasNotifications === true ? { hasNotifications } : {}),
    ...(sendKey === "ctrl-enter" ? { sendKey } : {}),
    ...(hasReducedMotion === true ? { hasReducedMotion } : {}),
    ...(typeof kind === "string" ? { kind } : {}),
    ...(typeof model === "string" ? { model } : {}),
    ...(level === undefined ? {} : { reasoning: level }),
    ...readStrategies(strategies),
    ...readPrices(prices),
  };
}

/** Models with stored prices; the oldest entries count. */
const MAX_PRICES = 500;

function readPrices(stored: unknown): Pick<PageSettings, "prices"> {
  if (typeof stored !== "object" || stored === null) return {};
  const isPrice = (value: unknown): boolean => typeof value === "number" && Number.isFinite(value) && value >= 0;
  const prices = Object.entries(stored).flatMap(([model, price]): [string, ModelPrice][] => {
    if (typeof price !== "object" || price === null) return [];
    const { input, output, cached } = price as ModelPrice;
    const read = Object.entries({ input, output, cached }).filter(([, value]) => isPrice(value));
    return read.length === 0 ? [] : [[model, Object.fromEntries(read)]];
  });
  return prices.length === 0 ? {} : { prices: Object.fromEntries(prices.slice(0, MAX_PRICES)) };
}

/** Does nothing if the browser refuses to store. */
export function saveSettings(storage: KeyValueStorage | undefined, settings: PageSettings): void {
  try {
    storage?.setItem(SETTINGS_KEY, JSON.stringify(settings));
  } catch {
    return;
  }
}

function readStored(storage: KeyValueStorage | undefined): { readonly [name: string]: unknown } {
  try {
    const stored: unknown = JSON.parse(storage?.getItem(SETTINGS_KEY) ?? "{}");
    return typeof stored === "object" && stored !== null ? { ...stored } : {};
  } catch {
    return {};
  }
}
