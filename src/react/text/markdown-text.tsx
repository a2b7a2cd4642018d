/** Renders Markdown as it grows. Finished blocks render once; a token re-renders only the open end. */
import { memo, type ReactNode, useMemo } from "react";
import { MarkdownBlock } from "./block-elements.tsx";
import { type FeedBlock, MarkdownFeed } from "./markdown-feed.ts";
import { RestText } from "./plain-text.tsx";

export interface MarkdownTextProps {
  readonly text: string;
  readonly isComplete: boolean;
}

export function MarkdownText({ text, isComplete }: MarkdownTextProps): ReactNode {
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
