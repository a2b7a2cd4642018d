/**
 * A series of thinking parts as one collapsible row with a count. A search produces hundreds of thoughts, which would
 * push the answer far down.
 */
import { memo, type ReactNode, useRef, useState } from "react";
import type { ThinkingPart } from "../../client/view.ts";
import { useRevealRequest } from "../thoughts/use-reveal-request.ts";
import { Disclosure } from "../ui/disclosure.tsx";
import { formatDuration, formatNumber } from "../ui/format.ts";
import { Icon } from "../ui/icon.tsx";
import { useCachedState } from "../ui/ui-state-cache.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { findLastLine } from "./fold-text.ts";
import { PartMenu } from "./part-menu.tsx";
import { ThinkingItem } from "./thinking-item.tsx";
import { useThrottledText } from "./use-throttled-text.ts";

const WORDS = defineWords({
  en: {
    searching: "Exploring thoughts…",
    thinking: "Thinking…",
    searched: (count: string) => `Explored ${count} thoughts`,
    thought: (count: string) => `Thought ${count} times`,
    took: (what: string, time: string) => `${what} in ${time}`,
    output: (count: string) => `Model output (${count})`,
    more: (count: string) => `Show ${count} earlier`,
  },
  zh: {
    searching: "正在探索想法…",
    thinking: "正在思考…",
    searched: (count: string) => `探索了 ${count} 个想法`,
    thought: (count: string) => `思考了 ${count} 次`,
    took: (what: string, time: string) => `${what}，用时 ${time}`,
    output: (count: string) => `模型输出（${count}）`,
    more: (count: string) => `显示更早的 ${count} 个`,
  },
});

/** Rows shown initially (the last ones) and added per click. */
const STEP = 50;

export interface ThoughtSeriesItemProps {
  readonly parts: readonly ThinkingPart[];
  /** Key prefix of the cached UI state; unique within the session. */
  readonly stateKey: string;
  readonly turnKey: string;
  readonly isLive: boolean;
  /** No other part follows yet, so the series may continue. */
  readonly isLast: boolean;
  /**
   * The series belongs to a drawing, which shows the thoughts: its title says only that it is the model's output.
   * `hidden`: the drawing is closed. Default: there is no drawing.
   */
  readonly output?: "shown" | "hidden" | undefined;
}

export const ThoughtSeriesItem = memo(
  function ThoughtSeriesItem(props: ThoughtSeriesItemProps): ReactNode {
    const { parts, stateKey, turnKey, isLive, isLast, output } = props;
    const words = useWords(WORDS);
    const { language } = useUi();
    const [isOpen, setOpen] = useCachedState(`${stateKey}/open`, false);
    const [limit, setLimit] = useState(STEP);
    const [revealed, setRevealed] = useState<string>();
    const element = useRef<HTMLDivElement>(null);
    useRevealRequest(element, "part", (key) => {
      const at = parts.findIndex((part) => part.key === key);
      if (at === -1) return;
      setOpen(true);
      setRevealed(key);
      setLimit(Math.max(limit, parts.length - at));
    });
    const open = isLive ? parts.findLast(({ isComplete }) => !isComplete) : undefined;
    const isGoing = open !== undefined || (isLive && isLast);
    const newest = open ?? parts.at(-1);
    const isSearch = parts.some(({ channel }) => channel === "thought");
    const count = formatNumber(parts.length, language);
    const what = isSearch ? words.searched(count) : words.thought(count);
    const time = measure(parts);
    const title =
      output !== undefined
        ? words.output(count)
        : isGoing
          ? words[isSearch ? "searching" : "thinking"]
          : time === undefined
            ? what
            : words.took(what, formatDuration(time, language));
    const summary = (
      <span className="loom-thinking-head">
        <Icon name={output === undefined && isSearch ? "tree" : "think"} />
        <span className="loom-thinking-title">{title}</span>
        {isOpen || output !== undefined ? null : (
          <span className="loom-thinking-preview" aria-hidden="true">
            {isGoing && newest !== undefined ? <NewestLine key={newest.key} text={newest.text} /> : null}
          </span>
        )}
      </span>
    );
    const first = Math.max(0, parts.length - limit);
    return (
      <div ref={element} className="loom-thinking" data-live={isGoing} hidden={output === "hidden" && !isOpen}>
        <Disclosure summary={summary} isOpen={isOpen} onToggle={setOpen}>
          {first === 0 ? null : (
            <button type="button" className="loom-more" onClick={() => setLimit(limit + STEP)}>
              {words.more(formatNumber(Math.min(first, STEP), language))}
            </button>
          )}
          {parts.slice(first).map((part) => (
            <SeriesRow
              key={part.key}
              part={part}
              turnKey={turnKey}
              isLive={isLive}
              isRevealed={part.key === revealed}
            />
          ))}
        </Disclosure>
      </div>
    );
  },
  // The array is new on every render of the message; its elements are not.
  (before, now) =>
    before.stateKey === now.stateKey &&
    before.isLive === now.isLive &&
    before.isLast === now.isLast &&
    before.output === now.output &&
    before.parts.length === now.parts.length &&
    before.parts.every((part, index) => part === now.parts[index]),
);

function NewestLine({ text }: { readonly text: string }): ReactNode {
  return <span>{findLastLine(useThrottledText(text, true))}</span>;
}

interface SeriesRowProps {
  readonly part: ThinkingPart;
  readonly turnKey: string;
  readonly isLive: boolean;
  readonly isRevealed: boolean;
}

const SeriesRow = memo(function SeriesRow({ part, turnKey, isLive, isRevealed }: SeriesRowProps): ReactNode {
  return (
    <div className="loom-part loom-part-row" data-part={part.key}>
      <div className="loom-part-content">
        <ThinkingItem part={part} turnKey={turnKey} isLive={isLive} isRevealed={isRevealed} isInSeries />
      </div>
      <PartMenu part={part} turnKey={turnKey} />
    </div>
  );
});

/** Returns the time from the first start to the last end, or undefined if the stream has no times. */
function measure(parts: readonly ThinkingPart[]): number | undefined {
  let [from, to] = [Infinity, -Infinity];
  for (const { startedAt, durationMs } of parts) {
    if (startedAt === undefined || durationMs === undefined) continue;
    from = Math.min(from, startedAt);
    to = Math.max(to, startedAt + durationMs);
  }
  return to < from ? undefined : to - from;
}
