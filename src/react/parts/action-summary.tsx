/** What a tool call will do: a sentence, what it acts on, and a preview of the text that it writes or sends. */
import type { ReactNode } from "react";
import { Icon } from "../ui/icon.tsx";
import type { ActionDescription } from "./describe-action.ts";
import { LogBox, ShortText } from "./log-box.tsx";

export function ActionSummary({ action }: { readonly action: ActionDescription }): ReactNode {
  const { sentence, subject, icon, preview, isQuestion = false } = action;
  return (
    <div className="loom-action">
      {sentence === undefined ? null : <p>{sentence}</p>}
      <p className={isQuestion ? "loom-action-question" : "loom-action-subject"}>
        {icon === undefined ? null : <Icon name={icon} />}
        <ShortText text={subject} isExact />
      </p>
      {preview === undefined ? null : (
        <div className="loom-action-preview">
          <span aria-hidden="true">{preview.label}</span>
          <LogBox text={preview.text} label={preview.label} end="first" isExact />
        </div>
      )}
    </div>
  );
}
