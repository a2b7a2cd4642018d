/** A link of an answer: opens in a new tab and sends no referrer. Unsafe links render as text. */
import type { ReactNode } from "react";
import { sanitizeLink } from "./sanitize-link.ts";

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
