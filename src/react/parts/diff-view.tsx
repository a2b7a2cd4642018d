/** Shows a unified diff: removed and added lines in color, and where each part begins. */
import type { ReactNode } from "react";
import { formatNumber } from "../ui/format.ts";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { revealHidden } from "./reveal-hidden.ts";

const WORDS = defineWords({
  en: {
    changes: (added: string, removed: string) => `Changes: +${added} −${removed}`,
    line: (number: string) => `Line ${number}`,
    cut: "More changes are not shown. See Details.",
  },
  zh: {
    changes: (added: string, removed: string) => `更改：+${added} −${removed}`,
    line: (number: string) => `第 ${number} 行`,
    cut: "其余更改未显示，请查看详情。",
  },
});

const MAX_LINES = 500;
/** Ends a diff that was truncated. */
const CUT = "…";
const HUNK = /^@@ -\d+,\d+ \+(\d+),\d+ @@$/;

export function DiffView({ diff }: { readonly diff: string }): ReactNode {
  const words = useWords(WORDS);
  const { language } = useUi();
  const all = diff.split("\n");
  const lines = all.slice(0, MAX_LINES).filter((line) => line !== CUT);
  const count = (sign: string): string => formatNumber(all.filter((line) => line.startsWith(sign)).length, language);
  const label = words.changes(count("+"), count("-"));
  return (
    <div className="loom-action-preview">
      <span aria-hidden="true">{label}</span>
      <div className="loom-log-text loom-diff" tabIndex={0} role="group" aria-label={label}>
        {lines.map((line, index) => {
          const start = HUNK.exec(line)?.[1];
          return (
            // The lines never change.
            <div key={index} data-line={start === undefined ? line[0] : "@"}>
              {start === undefined ? revealHidden(line) : words.line(formatNumber(Number(start), language))}
            </div>
          );
        })}
      </div>
      {lines.length < all.length ? <p className="loom-log-note">{words.cut}</p> : null}
    </div>
  );
}
