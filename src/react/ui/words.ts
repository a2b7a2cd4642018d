/**
 * Words in both languages. Each room of the page keeps its own, both side by side, so that a word that is missing in one
 * language does not compile. It knows no room.
 */
import { useUi } from "./ui-context.tsx";

export type Language = "en" | "zh";

/** A word, or a sentence with holes in it. */
type Word = string | ((...values: never[]) => string);

export interface Words<W extends { readonly [name: string]: Word }> {
  readonly en: W;
  readonly zh: W;
}

/** Both languages must have the same names, and take the same values. */
export function defineWords<const E extends { readonly [name: string]: Word }>(words: {
  readonly en: E;
  readonly zh: { readonly [N in keyof E]: E[N] extends string ? string : E[N] };
}): Words<Widened<E>> {
  return words as unknown as Words<Widened<E>>;
}

type Widened<E> = { readonly [N in keyof E]: E[N] extends string ? string : E[N] };

export function useWords<W extends { readonly [name: string]: Word }>(words: Words<W>): W {
  return words[useUi().language];
}

/** The first of a browser's languages that we speak; English when there is none. */
export function chooseLanguage(preferred: readonly string[]): Language {
  for (const tag of preferred) {
    if (/^zh\b/i.test(tag)) return "zh";
    if (/^en\b/i.test(tag)) return "en";
  }
  return "en";
}
