/** A document with a highlighted passage. */
import { type ReactNode, type Ref, useMemo } from "react";
import { RichText } from "./rich-text.tsx";
import { splitAtRange, type HighlightRange } from "./split-at-range.ts";

export interface HighlightedTextProps {
  readonly text: string;
  /** `markdown`, or another format that is shown as plain text. */
  readonly format: string;
  /** Position of the passage. Whole blocks of Markdown and whole lines of plain text are highlighted, unless very long. */
  readonly range?: HighlightRange | undefined;
  /** Accessible name of the passage. */
  readonly label: string;
  /** The highlighted element. */
  readonly ref?: Ref<HTMLElement>;
}

/** Renders a complete text and highlights a passage of it. */
export function HighlightedText({ text, format, range, label, ref }: HighlightedTextProps): ReactNode {
  const { start, end } = range ?? { start: 0, end: 0 };
  const { before, within, after } = useMemo(
    () => splitAtRange(text, { start, end }, format === "markdown"),
    [text, format, start, end],
  );
  const show = (part: string): ReactNode =>
    part.trim() === "" ? null : (
      <RichText text={format === "markdown" ? part : part.replaceAll(/^\n+|\n+$/g, "")} format={format} isComplete />
    );
  return (
    <>
      {show(before)}
      {within === "" ? null : (
        <section ref={ref} className="loom-highlight" aria-label={label} tabIndex={-1}>
          {show(within)}
        </section>
      )}
      {show(after)}
    </>
  );
}
