/** A link of an answer: it leaves the page, and tells the other side nothing. What must not be one is its text alone. */
import type { ReactNode } from "react";
import { judgeLink } from "./judge-link.ts";

export interface TextLinkProps {
  /** As it was written, with character references decoded. */
  readonly href: string;
  readonly title?: string | undefined;
  readonly children: ReactNode;
}

export function TextLink({ href, title, children }: TextLinkProps): ReactNode {
  const address = judgeLink(href);
  if (address === undefined) return <span>{children}</span>;
  return (
    <a className="loom-link" href={address} title={title} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}
