/**
 * Footnotes of a text and the links to them. They are buttons, not addresses: the address of the page names the session.
 * A footnote stays where the text has it, usually at the end.
 */
import type { ReactNode } from "react";
import { useWords } from "../ui/words.ts";
import { TEXT_WORDS } from "./text-words.ts";

/** Moves to the element of the same text that has this attribute. */
function show(from: Element, attribute: string, label: string): void {
  const elements = from.closest(".loom-text")?.querySelectorAll<HTMLElement>(`[${attribute}]`) ?? [];
  const target = [...elements].find((element) => element.getAttribute(attribute) === label);
  target?.scrollIntoView({ block: "nearest" });
  target?.focus({ preventScroll: true });
}

export function FootnoteLink({ label }: { readonly label: string }): ReactNode {
  const words = useWords(TEXT_WORDS);
  return (
    <sup>
      <button
        type="button"
        className="loom-footnote-link"
        data-footnote-link={label}
        aria-label={words.footnote(label)}
        onClick={(event) => show(event.currentTarget, "data-footnote", label)}
      >
        {label}
      </button>
    </sup>
  );
}

export interface FootnoteProps {
  readonly label: string;
  readonly children: ReactNode;
}

export function Footnote({ label, children }: FootnoteProps): ReactNode {
  const words = useWords(TEXT_WORDS);
  return (
    <div className="loom-footnote" role="note" aria-label={words.footnote(label)} tabIndex={-1} data-footnote={label}>
      <button
        type="button"
        className="loom-footnote-link"
        title={words.toText}
        onClick={(event) => show(event.currentTarget, "data-footnote-link", label)}
      >
        {label}
      </button>
      <span>{children}</span>
    </div>
  );
}
