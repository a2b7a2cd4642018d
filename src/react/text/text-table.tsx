/** A table within a text. One that is wider than the text scrolls in a box of its own. */
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
