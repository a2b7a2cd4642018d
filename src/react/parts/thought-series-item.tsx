/**
 * Many thoughts that followed each other, as one line: how many there were, and while they come the newest of them. A
 * search has a hundred, and what came of them should not be a hundred lines away.
 */
import { memo, type ReactNode, useRef, useState } from "react";
import type { ThinkingPart } from "../../client/index.ts";
import { useAsked } from "../thoughts/use-asked.ts";
import { Disclosure } from "../ui/disclosure.tsx";
import { formatDuration, formatNumber } from "../ui/format.ts";
import { Icon } from "../ui/icon.tsx";
import { Spinner } from "../ui/indicators.tsx";
import { useKeptState } from "../ui/kept-state.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { findLastLine } from "./cut-text.ts";
import { InspectButton } from "./inspect-button.tsx";
import { ThinkingItem } from "./thinking-item.tsx";
import { useSteppedText } from "./use-stepped-text.ts";

const WORDS = defineWords({
  en: {
    searching: "Weighing ideas…",
    thinking: "Thinking…",
    searched: (count: string) => `Weighed ${count} ideas`,
    thought: (count: string) => `Thought ${count} times`,
    took: (what: string, time: string) => `${what} in ${time}`,
    more: (count: string) => `Show ${count} earlier ones`,
  },
  zh: {
    searching: "正在推敲思路…",
    thinking: "正在思考…",
    searched: (count: string) => `推敲了 ${count} 个思路`,
    thought: (count: string) => `思考了 ${count} 次`,
    took: (what: string, time: string) => `${what}，用时 ${time}`,
    more: (count: string) => `显示更早的 ${count} 个`,
  },
});

/** Rows there are at first, the last ones, and how many more at a time. */
const STEP = 50;

export interface ThoughtSeriesItemProps {
  readonly parts: readonly ThinkingPart[];
  /** Unique within the session. */
  readonly place: string;
  readonly turnKey: string;
  readonly isLive: boolean;
  /** Nothing came after it: another may follow. */
  readonly isLast: boolean;
}

export const ThoughtSeriesItem = memo(
  function ThoughtSeriesItem(props: ThoughtSeriesItemProps): ReactNode {
    const { parts, place, turnKey, isLive, isLast } = props;
    const words = useWords(WORDS);
    const { language } = useUi();
    const [isOpen, setOpen] = useKeptState(`${place}/open`, false);
    const [limit, setLimit] = useState(STEP);
    const [asked, setAsked] = useState<string>();
    const element = useRef<HTMLDivElement>(null);
    useAsked(element, "part", (key) => {
      const at = parts.findIndex((part) => part.key === key);
      if (at === -1) return;
      setOpen(true);
      setAsked(key);
      setLimit(Math.max(limit, parts.length - at));
    });
    const open = isLive ? parts.findLast(({ isComplete }) => !isComplete) : undefined;
    const isGoing = open !== undefined || (isLive && isLast);
    const newest = open ?? parts.at(-1);
    const isSearch = parts.some(({ channel }) => channel === "thought");
    const count = formatNumber(parts.length, language);
    const what = isSearch ? words.searched(count) : words.thought(count);
    const time = measure(parts);
    const title = isGoing
      ? words[isSearch ? "searching" : "thinking"]
      : time === undefined
        ? what
        : words.took(what, formatDuration(time, language));
    const summary = (
      <span className="loom-thinking-head">
        {isGoing ? <Spinner /> : <Icon name={isSearch ? "tree" : "think"} />}
        <span className="loom-thinking-title">{title}</span>
        {isOpen ? null : (
          <span className="loom-thinking-preview" aria-hidden="true">
            {isGoing && newest !== undefined ? <NewestLine key={newest.key} text={newest.text} /> : null}
          </span>
        )}
      </span>
    );
    const first = Math.max(0, parts.length - limit);
    return (
      <div ref={element} className="loom-thinking" data-live={isGoing}>
        <Disclosure summary={summary} isOpen={isOpen} onToggle={setOpen}>
          {first === 0 ? null : (
            <button type="button" className="loom-more" onClick={() => setLimit(limit + STEP)}>
              {words.more(formatNumber(Math.min(first, STEP), language))}
            </button>
          )}
          {parts.slice(first).map((part) => (
            <SeriesRow key={part.key} part={part} turnKey={turnKey} isLive={isLive} isAsked={part.key === asked} />
          ))}
        </Disclosure>
      </div>
    );
  },
  // The list is made anew for every rendering of its message; what is in it is not.
  (before, now) =>
    before.place === now.place &&
    before.isLive === now.isLive &&
    before.isLast === now.isLast &&
    before.parts.length === now.parts.length &&
    before.parts.every((part, index) => part === now.parts[index]),
);

function NewestLine({ text }: { readonly text: string }): ReactNode {
  return <span>{findLastLine(useSteppedText(text, true))}</span>;
}

interface SeriesRowProps {
  readonly part: ThinkingPart;
  readonly turnKey: string;
  readonly isLive: boolean;
  readonly isAsked: boolean;
}

const SeriesRow = memo(function SeriesRow({ part, turnKey, isLive, isAsked }: SeriesRowProps): ReactNode {
  return (
    <div className="loom-part loom-part-row" data-part={part.key}>
      <div className="loom-part-content">
        <ThinkingItem part={part} turnKey={turnKey} isLive={isLive} isAsked={isAsked} isOneOfMany />
      </div>
      <InspectButton place={{ turn: turnKey, kind: "part", key: part.key }} />
    </div>
  );
});

/** From the first beginning to the last end; undefined where the stream tells no times. */
function measure(parts: readonly ThinkingPart[]): number | undefined {
  let [from, to] = [Infinity, -Infinity];
  for (const { startedAt, durationMs } of parts) {
    if (startedAt === undefined || durationMs === undefined) continue;
    from = Math.min(from, startedAt);
    to = Math.max(to, startedAt + durationMs);
  }
  return to < from ? undefined : to - from;
}
