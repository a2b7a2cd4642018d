/**
 * What the model thought, closed unless a reader opens it: while it goes on one line tells the newest of it, afterwards
 * how long it took. Closed, a token costs the same however long the text is.
 */
import { type ReactNode, useEffect, useRef } from "react";
import type { ThinkingPart } from "../../client/index.ts";
import { useAsked } from "../thoughts/use-asked.ts";
import { Disclosure } from "../ui/disclosure.tsx";
import { formatDuration } from "../ui/format.ts";
import { Icon } from "../ui/icon.tsx";
import { Badge, Spinner } from "../ui/indicators.tsx";
import { useKeptState } from "../ui/kept-state.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { Elapsed } from "./clock-text.tsx";
import { cutHead, findLastLine } from "./cut-text.ts";
import { LogBox } from "./log-box.tsx";
import { useSteppedText } from "./use-stepped-text.ts";

const WORDS = defineWords({
  en: {
    thinking: "Thinking…",
    thoughtFor: (time: string) => `Thought for ${time}`,
    thought: "Thought",
    searching: "Weighing an idea…",
    searchedFor: (time: string) => `Weighed an idea for ${time}`,
    searched: "An idea of the search",
    text: "Thoughts",
    reasoning: "reasoning",
    planning: "planning",
    analyzing: "analysing",
  },
  zh: {
    thinking: "正在思考…",
    thoughtFor: (time: string) => `思考了 ${time}`,
    thought: "思考过程",
    searching: "正在推敲思路…",
    searchedFor: (time: string) => `推敲思路用时 ${time}`,
    searched: "搜索中的思路",
    text: "思考内容",
    reasoning: "推理",
    planning: "规划",
    analyzing: "分析",
  },
});

const MAX_STAGE = 40;

export interface ThinkingItemProps {
  readonly part: ThinkingPart;
  readonly turnKey: string;
  /** Its run is going. */
  readonly isLive: boolean;
  /** Among many: its first line stays, to tell it from the others. */
  readonly isOneOfMany?: boolean;
  /** It was looked for before it was there. */
  readonly isAsked?: boolean;
}

export function ThinkingItem(props: ThinkingItemProps): ReactNode {
  const { part, turnKey, isLive, isOneOfMany = false, isAsked = false } = props;
  const words = useWords(WORDS);
  const { language } = useUi();
  const [isOpen, setOpen] = useKeptState(`${turnKey}/${part.key}/open`, false);
  const element = useRef<HTMLDivElement>(null);
  useAsked(element, "part", (key) => {
    if (key === part.key) setOpen(true);
  });
  useEffect(() => {
    if (isAsked) setOpen(true);
  }, [isAsked]);
  const { text, channel, stage, startedAt, durationMs } = part;
  const isGoing = isLive && !part.isComplete;
  const newest = useSteppedText(text, isGoing);
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
      {isGoing ? <Spinner /> : <Icon name={isSearch ? "tree" : "think"} />}
      <span className="loom-thinking-title">{title}</span>
      {stage === undefined ? null : <Badge>{nameStage(stage, words)}</Badge>}
      {isGoing && startedAt !== undefined ? <Elapsed since={startedAt} /> : null}
      {isOpen ? null : (
        // The name of a button should not change with every token.
        <span className="loom-thinking-preview" aria-hidden="true">
          <span>{isGoing ? findLastLine(newest) : isOneOfMany ? findFirstLine(text) : ""}</span>
        </span>
      )}
    </span>
  );
  return (
    <div ref={element} className={`loom-thinking loom-thinking-${channel}`} data-live={isGoing}>
      <Disclosure summary={summary} isOpen={isOpen} onToggle={setOpen}>
        <LogBox text={text} label={words.text} end="last" isLive={isGoing} look="prose" />
      </Disclosure>
    </div>
  );
}

const MAX_FIRST = 200;

function findFirstLine(text: string): string {
  return cutHead(text.trimStart(), MAX_FIRST).split("\n", 1)[0] ?? "";
}

function nameStage(stage: string, words: (typeof WORDS)["en"]): string {
  switch (stage) {
    case "reasoning":
    case "planning":
    case "analyzing":
      return words[stage];
    default:
      return cutHead(stage, MAX_STAGE);
  }
}
