/** The user's feedback on a run, for operators. */
import { type ReactNode, useMemo } from "react";
import type { Receiver, SessionView } from "loom-agent/client";
import { Icon, useSession, useWords } from "../../../src/react/page-parts.ts";
import { INSPECTOR_WORDS } from "./inspector-words.ts";

export interface RunFeedbackProps {
  readonly receiver: Receiver;
  readonly session: string;
  readonly runId: string;
}

export function RunFeedback({ receiver, session, runId }: RunFeedbackProps): ReactNode {
  const words = useWords(INSPECTOR_WORDS);
  const select = useMemo(
    () => (view: SessionView | undefined) => view?.feedback?.find((one) => one.runId === runId),
    [runId],
  );
  const feedback = useSession(receiver, session, select);
  if (feedback === undefined) return null;
  const { rating, comment, actor } = feedback;
  return (
    <p className="page-inspector-feedback" data-rating={rating}>
      <Icon name={rating} />
      <span>
        {words.rated(rating)}
        {actor === undefined ? "" : ` (${actor})`}
        {comment === undefined ? "" : `: ${comment}`}
      </span>
    </p>
  );
}
