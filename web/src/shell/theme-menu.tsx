/** Theme and language menus. */
import type { ReactNode } from "react";
import { Icon, Menu, useUi, useWords } from "../../../src/react/page-parts.ts";
import type { PageState } from "../store/page-state.ts";
import type { Theme } from "../store/settings.ts";
import { usePage, usePageState } from "./page-context.tsx";
import { SHELL_WORDS } from "./shell-words.ts";

export const THEMES: readonly Theme[] = ["system", "light", "dark"];
const selectTheme = ({ settings }: PageState): Theme => settings.theme;

export function ThemeMenu({ side = "below" }: { readonly side?: "above" | "below" }): ReactNode {
  const words = useWords(SHELL_WORDS);
  const page = usePage();
  const theme = usePageState(selectTheme);
  return (
    <Menu
      label={words.theme}
      side={side}
      className="page-icon-only"
      items={THEMES.map((one) => ({
        key: one,
        label: words[one],
        isChosen: one === theme,
        onSelect: () => page.dispatch({ type: "settings/changed", settings: { theme: one } }),
      }))}
    >
      <Icon name={theme === "dark" ? "moon" : "sun"} />
    </Menu>
  );
}

/** Each language is listed in its own script, so that every user can find theirs. */
export function LanguageMenu({ side = "below" }: { readonly side?: "above" | "below" }): ReactNode {
  const words = useWords(SHELL_WORDS);
  const { language } = useUi();
  const page = usePage();
  return (
    <Menu
      label={words.language}
      side={side}
      className="page-icon-only"
      items={(["en", "zh"] as const).map((one) => ({
        key: one,
        label: LANGUAGES[one],
        isChosen: one === language,
        onSelect: () => page.dispatch({ type: "settings/changed", settings: { language: one } }),
      }))}
    >
      <Icon name="language" />
    </Menu>
  );
}

export const LANGUAGES = { en: "English", zh: "中文" } as const;
