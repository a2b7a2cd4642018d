/** One run: the user's message, the answer, its tree or graph of thoughts, and the footer. */
import { memo, type NamedExoticComponent, type ReactNode, useMemo } from "react";
import type { Receiver, SessionView, StreamState } from "../../client/index.ts";
import { StageLine } from "../thoughts/stage.tsx";
import { ThoughtGraph } from "../thoughts/thought-graph.tsx";
import { ThoughtTree } from "../thoughts/thought-tree.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { useRun, useSession } from "../use-receiver.ts";
import { MessageItem } from "./message-item.tsx";
import { RunContext, type RunContextValue } from "./run-context.ts";
import { RunFooter } from "./run-footer.tsx";

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
  if (turn === undefined) return null;
  const isLive = turn.status === "running" && !isStreamEnded;
  return (
    <RunContext value={context}>
      <article
        className="loom-run"
        aria-posinset={position}
        aria-setsize={count}
        aria-busy={isLive}
        data-turn={turn.key}
        tabIndex={-1}
      >
        {turn.isPartial ? <p className="loom-run-note">{words.partial}</p> : null}
        {turn.messages.map((message) => (
          <MessageItem
            key={message.messageId}
            receiver={receiver}
            sessionId={sessionId}
            message={message}
            turnKey={turn.key}
            runId={turn.runId}
            isLive={isLive}
          />
        ))}
        {turn.tree === undefined ? null : <ThoughtTree tree={turn.tree} turnKey={turn.key} isLive={isLive} />}
        {turn.graph === undefined ? null : <ThoughtGraph graph={turn.graph} turnKey={turn.key} isLive={isLive} />}
        {isLive ? <StageLine turn={turn} state={state} /> : null}
        {turn.omitted > 0 ? <p className="loom-run-note">{words.omitted(turn.omitted)}</p> : null}
        {isLive ? null : <RunFooter turn={turn} state={state} />}
      </article>
    </RunContext>
  );
});

function selectState(session: SessionView | undefined): StreamState | undefined {
  return session?.state;
}
