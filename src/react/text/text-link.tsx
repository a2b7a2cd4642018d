/** A link of an answer: opens in a new tab and sends no referrer. Unsafe links render as text. */
import { type ReactNode, useRef } from "react";
import { sanitizeLink } from "./sanitize-link.ts";
import { useHiddenSides } from "../ui/use-hidden-sides.ts";
import { useWords } from "../ui/words.ts";
import { TEXT_WORDS } from "./text-words.ts";

export interface TextLinkProps {
  /** URL with character references decoded. */
  readonly href: string;
  readonly title?: string | undefined;
  readonly children: ReactNode;
}

export function TextLink({ href, title, children }: TextLinkProps): ReactNode {
  const address = sanitizeLink(href);
  if (address === undefined) return <span>{children}</span>;
  return (
    <a className="loom-link" href={address} title={title} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}

/** A table within text. Wide tables scroll sideways, and fade where columns are hidden. */
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
