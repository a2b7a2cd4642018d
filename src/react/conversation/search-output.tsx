/** What the model wrote during a search, as one collapsible row below the drawing of the search. */
import { type ReactNode, useMemo } from "react";
import type { Receiver, TurnView } from "../../client/index.ts";
import type { ThinkingPart } from "../../client/view.ts";
import { ThoughtSeriesItem } from "../parts/thought-series-item.tsx";
import { useRun } from "../use-receiver.ts";

export interface SearchOutputProps {
  readonly receiver: Receiver;
  readonly sessionId: string;
  readonly turnKey: string;
  /** The drawing is open. Otherwise the row is shown only while it is open itself. */
  readonly isShown: boolean;
}

/** Reads the run itself, so that the drawing does not render with each token. */
export function SearchOutput({ receiver, sessionId, turnKey, isShown }: SearchOutputProps): ReactNode {
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
