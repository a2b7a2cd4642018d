/** A table within text. Wide tables scroll horizontally. */
import type { ReactNode } from "react";
import { useWords } from "../ui/words.ts";
import { TEXT_WORDS } from "./text-words.ts";

export function TextTable({ children }: { readonly children: ReactNode }): ReactNode {
  const words = useWords(TEXT_WORDS);
  return (
    <div className="loom-text-table" tabIndex={0} role="group" aria-label={words.table}>
      <table>{children}</table>
    </div>
  );
}
