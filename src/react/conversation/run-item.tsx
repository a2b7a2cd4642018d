/** One run: what the user said, what came of it, the search behind it, and how it ended. */
import { memo, type ReactNode } from "react";
import type { Receiver } from "../../client/index.ts";
import { useRun, useSession } from "../use-receiver.ts";
import { StageLine } from "../thoughts/stage.tsx";
import { ThoughtGraph } from "../thoughts/thought-graph.tsx";
import { ThoughtTree } from "../thoughts/thought-tree.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { MessageItem } from "./message-item.tsx";
import { RunFooter } from "./run-footer.tsx";

const WORDS = defineWords({
  en: {
    partial: "The beginning of this run was not received.",
    omitted: (count: number) => `${count} events are not shown`,
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

export const RunItem = memo(function RunItem({
  receiver,
  sessionId,
  turnKey,
  position,
  count,
}: RunItemProps): ReactNode {
  const words = useWords(WORDS);
  const turn = useRun(receiver, sessionId, turnKey);
  const todoLists = useSession(receiver, sessionId, (session) => session?.todoLists);
  if (turn === undefined) return null;
  const isLive = turn.status === "running";
  return (
    <article className="loom-run" aria-posinset={position} aria-setsize={count} aria-busy={isLive} data-turn={turn.key}>
      {turn.isPartial ? <p className="loom-run-note">{words.partial}</p> : null}
      {turn.messages.map((message) => (
        <MessageItem
          key={message.messageId}
          message={message}
          turnKey={turn.key}
          runId={turn.runId}
          isLive={isLive}
          todoLists={todoLists}
        />
      ))}
      {turn.tree === undefined ? null : <ThoughtTree tree={turn.tree} turnKey={turn.key} isLive={isLive} />}
      {turn.graph === undefined ? null : <ThoughtGraph graph={turn.graph} turnKey={turn.key} isLive={isLive} />}
      {isLive ? <StageLine turn={turn} /> : null}
      {turn.omitted > 0 ? <p className="loom-run-note">{words.omitted(turn.omitted)}</p> : null}
      {isLive ? null : <RunFooter turn={turn} />}
    </article>
  );
});
