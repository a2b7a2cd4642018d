/** How a run ended, what it used, and what can be done with it now. */
import type { ReactNode } from "react";
import type { TurnView } from "../../client/index.ts";
import { formatDuration, formatNumber } from "../ui/format.ts";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";

const WORDS = defineWords({
  en: { tokens: (count: string) => `${count} tokens` },
  zh: { tokens: (count: string) => `${count} 个词元` },
});

export function RunFooter({ turn }: { readonly turn: TurnView }): ReactNode {
  const words = useWords(WORDS);
  const { language } = useUi();
  const facts = [
    ...(turn.durationMs === undefined ? [] : [formatDuration(turn.durationMs, language)]),
    ...(turn.usage.totalTokens === 0 ? [] : [words.tokens(formatNumber(turn.usage.totalTokens, language))]),
  ];
  return <footer className="loom-run-footer">{facts.join(" · ")}</footer>;
}
