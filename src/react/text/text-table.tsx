/** A table within text. Wide tables scroll sideways, and fade where columns are hidden. */
import { type ReactNode, useRef } from "react";
import { useHiddenSides } from "../ui/use-hidden-sides.ts";
import { useWords } from "../ui/words.ts";
import { TEXT_WORDS } from "./text-words.ts";

export function TextTable({ children }: { readonly children: ReactNode }): ReactNode {
  const words = useWords(TEXT_WORDS);
  const scroller = useRef<HTMLDivElement>(null);
  useHiddenSides(scroller);
  return (
    <div className="loom-text-table" ref={scroller} tabIndex={0} role="group" aria-label={words.table}>
      <table dir="auto">{children}</table>
    </div>
  );
}
