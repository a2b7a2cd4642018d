/** One run: what the user said, what came of it, the search behind it, and how it ended. */
import { memo, type ReactNode, useMemo } from "react";
import type { Receiver, SessionView, StreamState } from "../../client/index.ts";
import { StageLine } from "../thoughts/stage.tsx";
import { ThoughtGraph } from "../thoughts/thought-graph.tsx";
import { ThoughtTree } from "../thoughts/thought-tree.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { useRun, useSession } from "../use-receiver.ts";
import { MessageItem } from "./message-item.tsx";
import { RunContext, type RunPlace } from "./run-context.ts";
import { RunFooter } from "./run-footer.tsx";

const WORDS = defineWords({
  en: {
    partial: "The beginning of this run was not received.",
    omitted: (count: number) => (count === 1 ? "One event is not shown" : `${count} events are not shown`),
  },
  zh: { partial: "未收到此次运行的开头。", omitted: (count: number) => `${count} 个事件未显示` },
});

export interface RunItemProps {
  readonly receiver: Receiver;
  readonly sessionId: string;
  readonly turnKey: string;
  /** Among all that there are, from 1. */
  readonly position: number;
  readonly count: number;
}

/** Nothing more will come, whatever was going on: it is not waited for. */
function selectIsDead(session: SessionView | undefined): boolean {
  return session?.state.status === "truncated" || session?.state.status === "failed";
}

export const RunItem = memo(function RunItem(props: RunItemProps): ReactNode {
  const { receiver, sessionId, turnKey, position, count } = props;
  const words = useWords(WORDS);
  const turn = useRun(receiver, sessionId, turnKey);
  const isDead = useSession(receiver, sessionId, selectIsDead);
  const state = useSession(receiver, sessionId, selectState);
  const place = useMemo((): RunPlace => {
    const session = receiver.session(sessionId);
    return { turnKey, getTurn: () => session.getSnapshot()?.turns.findLast(({ key }) => key === turnKey) };
  }, [receiver, sessionId, turnKey]);
  if (turn === undefined) return null;
  const isLive = turn.status === "running" && !isDead;
  return (
    <RunContext value={place}>
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
        {isLive ? <StageLine turn={turn} /> : null}
        {turn.omitted > 0 ? <p className="loom-run-note">{words.omitted(turn.omitted)}</p> : null}
        {isLive ? null : <RunFooter turn={turn} state={state} />}
      </article>
    </RunContext>
  );
});

function selectState(session: SessionView | undefined): StreamState | undefined {
  return session?.state;
}
