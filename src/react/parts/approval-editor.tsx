/** Editor of the arguments in an approval request. */
import { type ReactNode, useEffect, useRef } from "react";
import type { JsonObject } from "../../protocol/index.ts";
import { Button } from "../ui/button.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { type ApprovalDraft, createDraft, type DraftParseResult, readDraft } from "./approval-draft.ts";
import { ApprovalFields } from "./approval-fields.tsx";

const WORDS = defineWords({ en: { discard: "Discard changes" }, zh: { discard: "放弃修改" } });

/** The edited arguments, and what they are read as. */
export interface ApprovalEdit {
  readonly draft: ApprovalDraft;
  readonly reading: DraftParseResult;
}

export interface ApprovalEditorProps {
  readonly requested: JsonObject;
  /** Undefined before the first change. */
  readonly edit: ApprovalEdit | undefined;
  readonly isDisabled: boolean;
  /** The user has just opened the editor, so that its first field gets the focus. */
  readonly isFresh: boolean;
  readonly onChange: (edit: ApprovalEdit) => void;
  readonly onDiscard: () => void;
}

export function ApprovalEditor(props: ApprovalEditorProps): ReactNode {
  const { requested, edit, isDisabled, isFresh, onChange, onDiscard } = props;
  const words = useWords(WORDS);
  const element = useRef<HTMLDivElement>(null);
  const draft = edit?.draft ?? createDraft(requested);
  useEffect(() => {
    if (isFresh) element.current?.querySelector<HTMLElement>("input, textarea")?.focus();
  }, []);
  return (
    <div ref={element} className="loom-approval-section">
      <ApprovalFields
        draft={draft}
        reading={edit?.reading ?? readDraft(draft, requested)}
        requested={requested}
        isDisabled={isDisabled}
        onChange={(changed) => onChange({ draft: changed, reading: readDraft(changed, requested) })}
      >
        <Button disabled={isDisabled} onClick={onDiscard}>
          {words.discard}
        </Button>
      </ApprovalFields>
    </div>
  );
}
