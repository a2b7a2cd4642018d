/** A score: its number, and how far it is on the way to the best there is. */
import type { ReactNode } from "react";
import { useUi } from "../ui/ui-context.tsx";
import type { Language } from "../ui/words.ts";

export function formatScore(score: number, language: Language): string {
  return new Intl.NumberFormat(language, { maximumFractionDigits: 2 }).format(score);
}

/** Scores are mostly between 0 and 1; where there are greater ones, the greatest is the whole. */
export function Score({ score, best }: { readonly score: number; readonly best: number | undefined }): ReactNode {
  const { language } = useUi();
  const share = Math.min(1, Math.max(0, score / Math.max(1, best ?? 1)));
  return (
    <span className="loom-score">
      <span className="loom-score-track" aria-hidden="true">
        <span className="loom-score-bar" style={{ width: `${Math.round(share * 100)}%` }} />
      </span>
      <span className="loom-score-number">{formatScore(score, language)}</span>
    </span>
  );
}
