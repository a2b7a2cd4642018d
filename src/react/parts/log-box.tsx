/**
 * A long plain text in a box that scrolls: what a tool printed, what a model thought. It shows the end of it, or its
 * beginning, and on demand all there is room for.
 *
 * Invariant: what a token costs does not grow with the text. Nothing here is read aloud by itself.
 */
import { memo, type ReactNode, useState } from "react";
import { CopyButton } from "../ui/copy-button.tsx";
import { formatNumber } from "../ui/format.ts";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { cutHead, cutTail, findBlocks, foldText } from "./cut-text.ts";
import { revealHidden } from "./reveal-hidden.ts";
import { useFollowEnd } from "./use-follow-end.ts";
import { useSteppedText } from "./use-stepped-text.ts";

const WORDS = defineWords({
  en: {
    showAll: (characters: string) => `Show all (${characters} characters)`,
    showLess: "Show less",
    copy: "Copy all",
    tooLong: (characters: string) => `Only the last ${characters} characters are shown; copying takes all.`,
  },
  zh: {
    showAll: (characters: string) => `显示全部（${characters} 个字符）`,
    showLess: "收起",
    copy: "复制全部",
    tooLong: (characters: string) => `仅显示最后 ${characters} 个字符；复制则为全部。`,
  },
});

const MAX_LINES = 200;
const MAX_CHARACTERS = 16_384;
const MAX_ALL = 1_048_576;
const BLOCK = 1024;

export interface LogBoxProps {
  readonly text: string;
  readonly label: string;
  /** Which end is shown of a text that is too long. */
  readonly end: "first" | "last";
  /** It grows: stay at the end. */
  readonly isLive?: boolean;
  /** `code` unless told otherwise. */
  readonly look?: "code" | "prose";
}

export function LogBox({ text: given, label, end, isLive = false, look = "code" }: LogBoxProps): ReactNode {
  const words = useWords(WORDS);
  const { language } = useUi();
  const [isAll, setAll] = useState(false);
  const { ref, onScroll } = useFollowEnd(isLive && end === "last");
  const text = useSteppedText(given, isLive);
  const isFirst = end === "first" && !isAll;
  const folded = isFirst ? foldText(text, MAX_LINES, MAX_CHARACTERS) : "";
  const blocks = isFirst ? [] : findBlocks(text, BLOCK, isAll ? MAX_ALL : MAX_CHARACTERS);
  const isCut = isFirst ? folded.length < text.length : (blocks[0]?.[0] ?? 0) > 0;
  return (
    <div className="loom-log">
      <div
        className={`loom-log-text loom-log-${look}`}
        ref={ref}
        onScroll={onScroll}
        tabIndex={0}
        role="group"
        aria-label={label}
        dir={look === "prose" ? "auto" : undefined}
      >
        {isCut && !isFirst ? <div aria-hidden="true">…</div> : null}
        {isFirst ? folded : blocks.map(([from, to]) => <Block key={from} text={text} from={from} to={to} />)}
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
}

/** A text only ever grows, so the places of a block tell whether it changed. */
const Block = memo(
  function Block({ text, from, to }: BlockProps): ReactNode {
    return <div>{text.slice(from, to)}</div>;
  },
  (before, now) => before.from === now.from && before.to === now.to,
);

const SHORT = 400;

export interface ShortTextProps {
  readonly text: string;
  readonly end?: "first" | "last";
  readonly isLive?: boolean;
  /** What cannot be seen in it is told. */
  readonly isExact?: boolean;
}

/** A text within a line of others, of which the beginning or the end is shown and on demand the rest. */
export function ShortText({ text: given, end = "first", isLive = false, isExact = false }: ShortTextProps): ReactNode {
  const words = useWords(WORDS);
  const { language } = useUi();
  const [isAll, setAll] = useState(false);
  const text = useSteppedText(given, isLive);
  const show = (shown: string): string => (isExact ? revealHidden(shown) : shown);
  if (text.length <= SHORT) return <span className="loom-short">{show(text)}</span>;
  const part = end === "first" ? `${cutHead(text, SHORT)}…` : `…${cutTail(text, SHORT)}`;
  return (
    <span className="loom-short">
      {show(isAll ? cutTail(text, MAX_ALL) : part)}{" "}
      <button type="button" className="loom-more" aria-expanded={isAll} onClick={() => setAll(!isAll)}>
        {isAll ? words.showLess : words.showAll(formatNumber(text.length, language))}
      </button>
    </span>
  );
}
