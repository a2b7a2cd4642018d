/**
 * The model's thinking, collapsed by default. While it streams, the summary shows the latest line; afterwards its
 * duration. Collapsed, a token costs the same regardless of length.
 */
import { type ReactNode, useEffect, useRef } from "react";
import type { ThinkingPart } from "../../client/view.ts";
import { useRevealRequest } from "../thoughts/use-reveal-request.ts";
import { Disclosure } from "../ui/disclosure.tsx";
import { formatDuration } from "../ui/format.ts";
import { Icon } from "../ui/icon.tsx";
import { Badge } from "../ui/indicators.tsx";
import { useCachedState } from "../ui/ui-state-cache.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { findLastLine } from "./fold-text.ts";
import { LogBox } from "./log-box.tsx";
import { useThrottledText } from "./use-throttled-text.ts";
import { cutText } from "../../protocol/cut-text.ts";

const WORDS = defineWords({
  en: {
    thinking: "Thinking…",
    thoughtFor: (time: string) => `Thought for ${time}`,
    thought: "Thought",
    searching: "Exploring a thought…",
    searchedFor: (time: string) => `Explored a thought for ${time}`,
    searched: "Explored thought",
    text: "Thoughts",
    reasoning: "Reasoning",
    planning: "Planning",
    analyzing: "Analyzing",
  },
  zh: {
    thinking: "正在思考…",
    thoughtFor: (time: string) => `思考了 ${time}`,
    thought: "思考过程",
    searching: "正在探索想法…",
    searchedFor: (time: string) => `探索想法用时 ${time}`,
    searched: "已探索的想法",
    text: "思考内容",
    reasoning: "推理",
    planning: "规划",
    analyzing: "分析",
  },
});

const MAX_STAGE = 40;

export interface ThinkingItemProps {
  readonly part: ThinkingPart;
  /** Key of the run, as in `TurnView.key`. */
  readonly turnKey: string;
  /** The run is live. */
  readonly isLive: boolean;
  /** Shows the first line in the summary, to tell the thoughts of a series apart. Default: false. */
  readonly isInSeries?: boolean;
  /** Opens the item: it was requested before it was rendered. */
  readonly isRevealed?: boolean;
}

/**
 * Shows one thinking part, collapsed by default.
 *
 * ```tsx
 * {part.type === "thinking" && <ThinkingItem part={part} turnKey={run.key} isLive={isLive} />}
 * ```
 */
export function ThinkingItem(props: ThinkingItemProps): ReactNode {
  const { part, turnKey, isLive, isInSeries = false, isRevealed = false } = props;
  const words = useWords(WORDS);
  const { language } = useUi();
  const [isOpen, setOpen] = useCachedState(`${turnKey}/${part.key}/open`, false);
  const element = useRef<HTMLDivElement>(null);
  useRevealRequest(element, "part", (key) => {
    if (key === part.key) setOpen(true);
  });
  useEffect(() => {
    if (isRevealed) setOpen(true);
  }, [isRevealed]);
  const { text, channel, stage, durationMs } = part;
  const isGoing = isLive && !part.isComplete;
  const newest = useThrottledText(text, isGoing);
  const isSearch = channel === "thought";
  const time = durationMs === undefined ? undefined : formatDuration(durationMs, language);
  const title = isGoing
    ? isSearch
      ? words.searching
      : words.thinking
    : isSearch
      ? time === undefined
        ? words.searched
        : words.searchedFor(time)
      : time === undefined
        ? words.thought
        : words.thoughtFor(time);
  const summary = (
    <span className="loom-thinking-head">
      <Icon name={isSearch ? "tree" : "think"} />
      <span className="loom-thinking-title">{title}</span>
      {stage === undefined ? null : <Badge>{nameStage(stage, words)}</Badge>}
      {isOpen ? null : (
        // Hidden, so that the button's accessible name does not change with each token.
        <span className="loom-thinking-preview" aria-hidden="true">
          <span>{isGoing ? findLastLine(newest) : isInSeries ? findFirstLine(text) : ""}</span>
        </span>
      )}
    </span>
  );
  return (
    <div ref={element} className={`loom-thinking loom-thinking-${channel}`} data-live={isGoing}>
      <Disclosure summary={summary} isOpen={isOpen} onToggle={setOpen}>
        <LogBox text={text} label={words.text} end="last" isLive={isGoing} variant="prose" />
      </Disclosure>
    </div>
  );
}

const MAX_FIRST = 200;

function findFirstLine(text: string): string {
  return cutText(text.trimStart(), MAX_FIRST).split("\n", 1)[0] ?? "";
}

function nameStage(stage: string, words: (typeof WORDS)["en"]): string {
  switch (stage) {
    case "reasoning":
    case "planning":
    case "analyzing":
      return words[stage];
    default:
      return cutText(stage, MAX_STAGE);
  }
}
