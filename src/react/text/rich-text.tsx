/** Text of an answer as Markdown, plain text or HTML. It cannot run scripts or load resources by itself. */
import { memo, type NamedExoticComponent, type ReactNode, useMemo } from "react";
import { HtmlText } from "./html-text.tsx";
import { PlainText, RestText } from "./plain-text.tsx";
import { MarkdownBlock } from "./block-elements.tsx";
import { type FeedBlock, MarkdownFeed } from "./markdown-feed.ts";

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

interface MarkdownTextProps {
  readonly text: string;
  readonly isComplete: boolean;
}

/** Renders Markdown as it grows. Finished blocks render once; a token re-renders only the open end. */
function MarkdownText({ text, isComplete }: MarkdownTextProps): ReactNode {
  // A cache: the result depends only on the text, so any render may fill it.
  const feed = useMemo(() => new MarkdownFeed(), []);
  const { pages, rest } = feed.update(text, isComplete);
  const last = pages.length - 1;
  return (
    <div className="loom-text" dir="auto">
      {pages.map((blocks, index) => (
        <Page key={index} blocks={blocks} isFirst={index === 0} isOpen={!isComplete && index === last} />
      ))}
      {rest === "" ? null : <RestText text={rest} />}
    </div>
  );
}

interface PageProps {
  readonly blocks: readonly FeedBlock[];
  readonly isFirst: boolean;
  /** Its last block is open. */
  readonly isOpen: boolean;
}

/** Later pages are elements, so that the browser lays out and paints only the one that grows. */
const Page = memo(function Page({ blocks, isFirst, isOpen }: PageProps): ReactNode {
  const last = blocks.length - 1;
  const shown = blocks.map((block, index) => (
    <MarkdownBlock key={index} block={block} isOpen={isOpen && index === last} />
  ));
  return isFirst ? shown : <div className="loom-text-page">{shown}</div>;
});
