/** A text of an answer as its `format` says: Markdown, plain text or HTML. Nothing in it can run or fetch anything. */
import { memo, type ReactNode } from "react";
import { HtmlText } from "./html-text.tsx";
import { MarkdownText } from "./markdown-text.tsx";
import { PlainText } from "./plain-text.tsx";

export interface RichTextProps {
  readonly text: string;
  /** `markdown`, `text` or `html`; what else there may be is shown as text. */
  readonly format: string;
  /** False while more may be appended. */
  readonly isComplete: boolean;
}

export const RichText = memo(function RichText({ text, format, isComplete }: RichTextProps): ReactNode {
  switch (format) {
    case "markdown":
      return <MarkdownText text={text} isComplete={isComplete} />;
    case "html":
      return <HtmlText text={text} isComplete={isComplete} />;
    default:
      return <PlainText text={text} />;
  }
});
