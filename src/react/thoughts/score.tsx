/** A score as a number and a bar. */
import type { ReactNode } from "react";
import { useUi } from "../ui/ui-context.tsx";
import type { UiLanguage } from "../ui/ui-context.tsx";

export function formatScore(score: number, language: UiLanguage): string {
  return new Intl.NumberFormat(language, { maximumFractionDigits: 2 }).format(score);
}

/** Scores usually range from 0 to 1; if there are larger ones, the bar is relative to the best. */
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
