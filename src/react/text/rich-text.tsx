/** Text of an answer as Markdown, plain text or HTML. It cannot run scripts or load resources by itself. */
import { memo, type NamedExoticComponent, type ReactNode } from "react";
import { HtmlText } from "./html-text.tsx";
import { MarkdownText } from "./markdown-text.tsx";
import { PlainText } from "./plain-text.tsx";

export interface RichTextProps {
  readonly text: string;
  /** `markdown`, `text` or `html`; other formats are shown as plain text. */
  readonly format: string;
  /** False while more text may follow. */
  readonly isComplete: boolean;
}

/** Renders text from an untrusted sender in its format, incrementally while it grows. */
export const RichText: NamedExoticComponent<RichTextProps> = memo(function RichText({
  text,
  format,
  isComplete,
}: RichTextProps): ReactNode {
  switch (format) {
    case "markdown":
      return <MarkdownText text={text} isComplete={isComplete} />;
    case "html":
      return <HtmlText text={text} isComplete={isComplete} />;
    default:
      return <PlainText text={text} />;
  }
});
