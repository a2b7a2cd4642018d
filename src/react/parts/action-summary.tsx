/** What a tool call will do: a sentence, what it acts on, and what it changes or the text that it writes or sends. */
import type { ReactNode } from "react";
import { Icon } from "../ui/icon.tsx";
import type { ActionDescription } from "./describe-action.ts";
import { DiffView } from "./diff-view.tsx";
import { LogBox, ShortText } from "./log-box.tsx";

export interface ActionSummaryProps {
  readonly action: ActionDescription;
  /** Unified diff of what changes; shown in place of the text that is written. */
  readonly diff?: string | undefined;
}

export function ActionSummary({ action, diff }: ActionSummaryProps): ReactNode {
  const { sentence, subject, icon, preview, isQuestion = false } = action;
  return (
    <div className="loom-action">
      {sentence === undefined ? null : <p>{sentence}</p>}
      <p className={isQuestion ? "loom-action-question" : "loom-action-subject"}>
        {icon === undefined ? null : <Icon name={icon} />}
        <ShortText text={subject} isExact />
      </p>
      {diff !== undefined ? (
        <DiffView diff={diff} />
      ) : preview === undefined ? null : (
        <div className="loom-action-preview">
          <span aria-hidden="true">{preview.label}</span>
          <LogBox text={preview.text} label={preview.label} end="first" isExact />
        </div>
      )}
    </div>
  );
}
