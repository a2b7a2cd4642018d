/**
 * UI strings in English and Chinese. Each module defines its own table; a string that is missing in one language does
 * not compile.
 */
import { type UiLanguage, useUi } from "./ui-context.tsx";

/** A string, or a function that fills in values. */
type TranslatedText = string | ((...values: never[]) => string);

/** A table of UI strings in both languages. */
export interface Words<W extends { readonly [name: string]: TranslatedText }> {
  readonly en: W;
  readonly zh: W;
}

/** Defines a table of UI strings. Both languages must have the same keys and parameters. */
export function defineWords<const E extends { readonly [name: string]: TranslatedText }>(words: {
  readonly en: E;
  readonly zh: { readonly [N in keyof E]: E[N] extends string ? string : E[N] };
}): Words<Widened<E>> {
  return words as unknown as Words<Widened<E>>;
}

type Widened<E> = { readonly [N in keyof E]: E[N] extends string ? string : E[N] };

/** Returns the strings of a table in the current UI language. */
export function useWords<W extends { readonly [name: string]: TranslatedText }>(words: Words<W>): W {
  return words[useUi().language];
}

/**
 * Returns the first supported language of the browser's list; English by default.
 *
 * ```tsx
 * <UiProvider language={chooseLanguage(navigator.languages)}>…</UiProvider>
 * ```
 */
export function chooseLanguage(preferred: readonly string[]): UiLanguage {
  for (const tag of preferred) {
    if (/^zh\b/i.test(tag)) return "zh";
    if (/^en\b/i.test(tag)) return "en";
  }
  return "en";
}
