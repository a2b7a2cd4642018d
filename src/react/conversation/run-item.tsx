/**
 * One run: the user's message, its tree or graph of thoughts, the answer, and the footer. While a search goes on, its
 * drawing takes the place of the answer; then it folds to one line above the answer.
 */
import {
  lazy,
  memo,
  type NamedExoticComponent,
  type ReactNode,
  type RefObject,
  Suspense,
  useCallback,
  useLayoutEffect,
  useMemo,
  useRef,
} from "react";
import type { Receiver, SessionView, StreamState, TurnView } from "../../client/index.ts";
import type { MessageView, ThinkingPart } from "../../client/view.ts";
import { StageLine } from "../thoughts/stage.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { useRun, useSession } from "../use-receiver.ts";
import { MessageItem } from "./message-item.tsx";
import { RunContext, type RunContextValue } from "./run-context.ts";
import { RunFooter } from "./run-footer.tsx";
import { holdBeginning } from "./scrolling.ts";
import { VersionSwitcher } from "./version-switcher.tsx";
import { ThoughtSeriesItem } from "../parts/thought-series-item.tsx";

/** Drawings are loaded with the first one. */
const ThoughtTree = lazy(async () => ({ default: (await import("../thoughts/thought-tree.tsx")).ThoughtTree }));
const ThoughtGraph = lazy(async () => ({ default: (await import("../thoughts/thought-graph.tsx")).ThoughtGraph }));

const WORDS = defineWords({
  en: {
    partial: "The start of this run is missing.",
    omitted: (count: number) => (count === 1 ? "1 event not shown" : `${count} events not shown`),
  },
  zh: { partial: "缺少此次运行的开头。", omitted: (count: number) => `${count} 个事件未显示` },
});

export interface RunItemProps {
  readonly receiver: Receiver;
  readonly sessionId: string;
  /** Key of the run, as in `TurnView.key`. */
  readonly turnKey: string;
  /** Position in the list, from 1. */
  readonly position: number;
  /** Number of runs in the list. */
  readonly count: number;
}

/** The stream has ended, so a run that is still open gets no further events. */
function selectIsStreamEnded(session: SessionView | undefined): boolean {
  return session?.state.status === "truncated" || session?.state.status === "failed";
}

/** Renders one run with its messages, thoughts, stage and footer. */
export const RunItem: NamedExoticComponent<RunItemProps> = memo(function RunItem(props: RunItemProps): ReactNode {
  const { receiver, sessionId, turnKey, position, count } = props;
  const words = useWords(WORDS);
  const turn = useRun(receiver, sessionId, turnKey);
  const isStreamEnded = useSession(receiver, sessionId, selectIsStreamEnded);
  const state = useSession(receiver, sessionId, selectState);
  const context = useMemo((): RunContextValue => {
    const session = receiver.session(sessionId);
    return { turnKey, getTurn: () => session.getSnapshot()?.turns.findLast(({ key }) => key === turnKey) };
  }, [receiver, sessionId, turnKey]);
  const renderOutput = useCallback(
    (isShown: boolean) => (
      <SearchOutput receiver={receiver} sessionId={sessionId} turnKey={turnKey} isShown={isShown} />
    ),
    [receiver, sessionId, turnKey],
  );
  const article = useRef<HTMLElement>(null);
  // Whether it has ended is known when the stream has caught up.
  const isPast = turn?.status === "running" && state?.isCatchingUp === true;
  const isLive = turn?.status === "running" && !isStreamEnded && !isPast;
  const hasDrawing = turn?.tree !== undefined || turn?.graph !== undefined;
  const isSearching = isLive && !isAnswering(turn);
  useAnswerLanding(article, isSearching, hasDrawing);
  if (turn === undefined) return null;
  const drawing = { turnKey: turn.key, isLive, isSearching, renderMore: renderOutput };
  const show = (message: MessageView): ReactNode => (
    <MessageItem
      key={message.messageId}
      receiver={receiver}
      sessionId={sessionId}
      message={message}
      turnKey={turn.key}
      runId={turn.runId}
      isLive={isLive}
      hidesThinking={hasDrawing}
    />
  );
  return (
    <RunContext value={context}>
      <article
        ref={article}
        className="loom-run"
        aria-posinset={position}
        aria-setsize={count}
        aria-busy={isLive}
        data-turn={turn.key}
        tabIndex={-1}
      >
        {turn.isPartial ? <p className="loom-run-note">{words.partial}</p> : null}
        {turn.messages.filter(({ role }) => role === "user").map(show)}
        <Suspense fallback={null}>
          {turn.tree === undefined ? null : <ThoughtTree tree={turn.tree} {...drawing} />}
          {turn.graph === undefined ? null : <ThoughtGraph graph={turn.graph} {...drawing} />}
        </Suspense>
        {turn.messages.filter(({ role }) => role !== "user").map(show)}
        {isLive ? <StageLine turn={turn} state={state} /> : null}
        {isLive ? <VersionSwitcher turnKey={turn.key} at="answer" /> : null}
        {turn.omitted > 0 ? <p className="loom-run-note">{words.omitted(turn.omitted)}</p> : null}
        {isLive || isPast ? null : <LinkedFooter receiver={receiver} sessionId={sessionId} turn={turn} state={state} />}
      </article>
    </RunContext>
  );
});

/** The last part is text. */
function isAnswering({ messages }: TurnView): boolean {
  const part = messages.findLast(({ role }) => role === "assistant")?.parts.at(-1);
  return part?.type === "text" && part.supersededBy === undefined;
}

/** When a search ends, the page shows the beginning of the answer and does not follow its end. */
function useAnswerLanding(article: RefObject<HTMLElement | null>, isSearching: boolean, hasDrawing: boolean): void {
  const wasSearching = useRef(isSearching);
  useLayoutEffect(() => {
    const hasEnded = wasSearching.current && !isSearching;
    wasSearching.current = isSearching;
    const scroller = article.current?.closest(".loom-conversation-scroller");
    const line = article.current?.querySelector(".loom-thoughts");
    if (!hasEnded || !hasDrawing || !scroller || !line) return undefined;
    return holdBeginning(scroller, line);
    // A drawing that arrives later does not end a search.
  }, [isSearching]);
}

interface LinkedFooterProps extends Pick<RunItemProps, "receiver" | "sessionId"> {
  readonly turn: TurnView;
  readonly state: StreamState | undefined;
}

/** Feedback belongs to the session and changes after its run, so it is selected here. */
function LinkedFooter({ receiver, sessionId, turn, state }: LinkedFooterProps): ReactNode {
  const { runId } = turn;
  const select = useMemo(
    () => (session: SessionView | undefined) => session?.feedback?.find((one) => one.runId === runId),
    [runId],
  );
  return <RunFooter turn={turn} state={state} feedback={useSession(receiver, sessionId, select)} />;
}

function selectState(session: SessionView | undefined): StreamState | undefined {
  return session?.state;
}

interface SearchOutputProps {
  readonly receiver: Receiver;
  readonly sessionId: string;
  readonly turnKey: string;
  /** The drawing is open. Otherwise the row is shown only while it is open itself. */
  readonly isShown: boolean;
}

/**
 * What the model wrote during a search, as one collapsible row below the drawing of the search. Reads the run itself, so
 * that the drawing does not render with each token.
 */
function SearchOutput({ receiver, sessionId, turnKey, isShown }: SearchOutputProps): ReactNode {
  const turn = useRun(receiver, sessionId, turnKey);
  const parts = useMemo(() => collectThinking(turn), [turn]);
  if (turn === undefined || parts.length === 0) return null;
  return (
    <ThoughtSeriesItem
      parts={parts}
      stateKey={`${turnKey}/output`}
      turnKey={turnKey}
      isLive={turn.status === "running"}
      isLast={false}
      output={isShown ? "shown" : "hidden"}
    />
  );
}

function collectThinking(turn: TurnView | undefined): readonly ThinkingPart[] {
  const parts = turn?.messages.findLast(({ role }) => role === "assistant")?.parts ?? [];
  return parts.filter((part) => part.type === "thinking" && part.supersededBy === undefined) as ThinkingPart[];
}
