/** What people set for themselves, kept by the browser. What it kept may be of another version, or anybody's: it is checked. */
import type { Language } from "loom-agent/react";

export type Theme = "system" | "light" | "dark";

export interface Settings {
  readonly language: Language;
  readonly theme: Theme;
  /** The list of sessions stands beside the conversation, where there is room. */
  readonly hasSidebar: boolean;
  /** The agent that answers: its kind and its model; undefined: the server's first. */
  readonly kind?: string;
  readonly model?: string;
}

/** Also read by `theme.js`, before anything is drawn. */
export const SETTINGS_KEY = "loom.settings";

export type Keeper = Pick<Storage, "getItem" | "setItem">;

/** As the browser prefers where nothing was set. */
export function readSettings(keeper: Keeper | undefined, preferred: Language): Settings {
  const kept = readKept(keeper);
  const { language, theme, hasSidebar, kind, model } = kept;
  return {
    language: language === "en" || language === "zh" ? language : preferred,
    theme: theme === "light" || theme === "dark" ? theme : "system",
    hasSidebar: hasSidebar !== false,
    ...(typeof kind === "string" ? { kind } : {}),
    ...(typeof model === "string" ? { model } : {}),
  };
}

/** A browser that keeps nothing loses nothing but the choice. */
export function keepSettings(keeper: Keeper | undefined, settings: Settings): void {
  try {
    keeper?.setItem(SETTINGS_KEY, JSON.stringify(settings));
  } catch {
    return;
  }
}

function readKept(keeper: Keeper | undefined): { readonly [name: string]: unknown } {
  try {
    const kept: unknown = JSON.parse(keeper?.getItem(SETTINGS_KEY) ?? "{}");
    return typeof kept === "object" && kept !== null ? { ...kept } : {};
  } catch {
    return {};
  }
}
