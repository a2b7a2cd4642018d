/**
 * Markdown as it grows. Blocks that are certain are rendered once; a token that comes renders the open end, and looks at
 * one page of blocks.
 */
import { memo, type ReactNode, useMemo } from "react";
import { MarkdownBlock } from "./block-elements.tsx";
import { type Block, MarkdownFeed } from "./markdown-feed.ts";
import { RestText } from "./plain-text.tsx";

export interface MarkdownTextProps {
  readonly text: string;
  readonly isComplete: boolean;
}

export function MarkdownText({ text, isComplete }: MarkdownTextProps): ReactNode {
  // A cache: the same text gives the same blocks, whichever render asked first.
  const feed = useMemo(() => new MarkdownFeed(), []);
  const { pages, rest } = feed.update(text, isComplete);
  const last = pages.length - 1;
  return (
    <div className="loom-text" dir="auto">
      {pages.map((blocks, index) => (
        <Page key={index} blocks={blocks} isOpen={!isComplete && index === last} />
      ))}
      {rest === "" ? null : <RestText text={rest} />}
    </div>
  );
}

interface PageProps {
  readonly blocks: readonly Block[];
  /** Its last block is. */
  readonly isOpen: boolean;
}

const Page = memo(function Page({ blocks, isOpen }: PageProps): ReactNode {
  const last = blocks.length - 1;
  return blocks.map((block, index) => <MarkdownBlock key={index} block={block} isOpen={isOpen && index === last} />);
});
