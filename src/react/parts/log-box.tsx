/**
 * A scrollable box for long plain text, such as tool output. Shows the beginning or the end, and more on demand.
 *
 * Invariant: the cost of a token does not grow with the text. Nothing is announced to screen readers.
 */
import { memo, type ReactNode, type RefObject, useLayoutEffect, useRef, useState } from "react";
import { CopyButton } from "../ui/copy-button.tsx";
import { formatNumber } from "../ui/format.ts";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { cutTail, findBlocks, foldText } from "./fold-text.ts";
import { revealHidden } from "./reveal-hidden.ts";
import { useThrottledText } from "./use-throttled-text.ts";
import { shorten } from "../../protocol/cut-text.ts";

const WORDS = defineWords({
  en: {
    showAll: (characters: string) => `Show all (${characters} characters)`,
    showLess: "Show less",
    copy: "Copy all",
    tooLong: (characters: string) => `Showing the last ${characters} characters. Copy includes all.`,
  },
  zh: {
    showAll: (characters: string) => `显示全部（${characters} 个字符）`,
    showLess: "收起",
    copy: "复制全部",
    tooLong: (characters: string) => `仅显示最后 ${characters} 个字符，复制时包含全部内容。`,
  },
});

const MAX_LINES = 200;
const MAX_CHARACTERS = 16_384;
const MAX_ALL = 1_048_576;
const BLOCK = 1024;

export interface LogBoxProps {
  readonly text: string;
  /** Accessible name. */
  readonly label: string;
  /** Which end of a long text is shown. */
  readonly end: "first" | "last";
  /** The text is growing: keep scrolling to its end. Default: false. */
  readonly isLive?: boolean;
  /** Default: `code`. */
  readonly variant?: "code" | "prose";
  /** Show invisible characters as code points. Default: false. */
  readonly isExact?: boolean;
}

/** Shows a long plain text in a scrolling box with a copy button. */
export function LogBox(props: LogBoxProps): ReactNode {
  const { text: given, label, end, isLive = false, variant = "code", isExact = false } = props;
  const words = useWords(WORDS);
  const { language } = useUi();
  const [isAll, setAll] = useState(false);
  const { ref, onScroll } = useFollowEnd(isLive && end === "last");
  const text = useThrottledText(given, isLive);
  const isFirst = end === "first" && !isAll;
  const folded = isFirst ? foldText(text, MAX_LINES, MAX_CHARACTERS) : "";
  const blocks = isFirst ? [] : findBlocks(text, BLOCK, isAll ? MAX_ALL : MAX_CHARACTERS);
  const isCut = isFirst ? folded.length < text.length : (blocks[0]?.[0] ?? 0) > 0;
  return (
    <div className="loom-log">
      <div
        className={`loom-log-text loom-log-${variant}`}
        ref={ref}
        onScroll={onScroll}
        tabIndex={0}
        role="group"
        aria-label={label}
        dir={variant === "prose" ? "auto" : undefined}
      >
        {isCut && !isFirst ? <div aria-hidden="true">…</div> : null}
        {isFirst
          ? isExact
            ? revealHidden(folded)
            : folded
          : blocks.map(([from, to]) => <Block key={from} text={text} from={from} to={to} isExact={isExact} />)}
        {isCut && isFirst ? <div aria-hidden="true">…</div> : null}
      </div>
      {isAll && isCut ? <p className="loom-log-note">{words.tooLong(formatNumber(MAX_ALL, language))}</p> : null}
      {isCut || isAll ? (
        <button type="button" className="loom-more" aria-expanded={isAll} onClick={() => setAll(!isAll)}>
          {isAll ? words.showLess : words.showAll(formatNumber(text.length, language))}
        </button>
      ) : null}
      <span className="loom-log-copy">
        <CopyButton getText={() => given} label={words.copy} />
      </span>
    </div>
  );
}

interface BlockProps {
  readonly text: string;
  readonly from: number;
  readonly to: number;
  readonly isExact: boolean;
}

/** Text only grows at its end, so equal offsets mean an unchanged block. */
const Block = memo(
  function Block({ text, from, to, isExact }: BlockProps): ReactNode {
    const shown = text.slice(from, to);
    return <div>{isExact ? revealHidden(shown) : shown}</div>;
  },
  (before, now) => before.from === now.from && before.to === now.to,
);

const SHORT = 400;

export interface ShortTextProps {
  readonly text: string;
  readonly end?: "first" | "last";
  readonly isLive?: boolean;
  /** Show invisible characters as code points. */
  readonly isExact?: boolean;
}

/** Inline text, truncated with a button that shows the rest. */
export function ShortText({ text: given, end = "first", isLive = false, isExact = false }: ShortTextProps): ReactNode {
  const words = useWords(WORDS);
  const { language } = useUi();
  const [isAll, setAll] = useState(false);
  const text = useThrottledText(given, isLive);
  const show = (shown: string): string => (isExact ? revealHidden(shown) : shown);
  if (text.length <= SHORT) return <span className="loom-short">{show(text)}</span>;
  const part = end === "first" ? shorten(text, SHORT) : `…${cutTail(text, SHORT)}`;
  return (
    <span className="loom-short">
      {show(isAll ? cutTail(text, MAX_ALL) : part)}{" "}
      <button type="button" className="loom-more" aria-expanded={isAll} onClick={() => setAll(!isAll)}>
        {isAll ? words.showLess : words.showAll(formatNumber(text.length, language))}
      </button>
    </span>
  );
}

/** The box counts as at its end within this distance. */
const END_PX = 24;

interface FollowedBox {
  readonly ref: RefObject<HTMLDivElement | null>;
  readonly onScroll: () => void;
}

/**
 * Keeps a scrolling box at its end while it grows, until the user scrolls away. Runs after every render, because any
 * render may have added content.
 */
function useFollowEnd(isFollowing: boolean): FollowedBox {
  const ref = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useLayoutEffect(() => {
    const box = ref.current;
    if (box !== null && isFollowing && isAtEnd.current) box.scrollTop = box.scrollHeight;
  });
  return {
    ref,
    onScroll: () => {
      const box = ref.current;
      if (box !== null) isAtEnd.current = box.scrollHeight - box.scrollTop - box.clientHeight < END_PX;
    },
  };
}
