/**
 * The form to answer an approval request: allow once, allow for the session, reject with a reason, or edit the
 * arguments first. Only the buttons submit; Enter in a field does not.
 *
 * Loaded with the first approval.
 *
 * Invariant: the row of buttons does not move or change while the form is open. What the user opens appears below it.
 */
import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from "react";
import type { CommandResult } from "../../client/index.ts";
import type { JsonObject } from "../../protocol/index.ts";
import { Button } from "../ui/button.tsx";
import { Disclosure } from "../ui/disclosure.tsx";
import { Spinner } from "../ui/indicators.tsx";
import { useCachedState } from "../ui/ui-state-cache.tsx";
import type { ApprovalResponse } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { ArgumentsView } from "./arguments-view.tsx";
import { COMMAND_WORDS, describeCommandFailure } from "./command-words.ts";
import { type ApprovalDraft, createDraft, type DraftParseResult, readDraft } from "./approval-draft.ts";
import { ApprovalFields } from "./approval-fields.tsx";

const WORDS = defineWords({
  en: {
    allow: "Allow",
    allowAlways: "Always allow in this session",
    reject: "Reject…",
    rejectNow: "Reject",
    edit: "Edit",
    edited: "Runs with your changes.",
    invalid: "Correct the arguments first.",
    details: "Details",
    reason: "Reason (sent to the model)",
    back: "Back",
    sending: "Sending…",
    sent: "Sent. Waiting for the run to continue.",
  },
  zh: {
    allow: "允许",
    allowAlways: "本会话始终允许",
    reject: "拒绝…",
    rejectNow: "拒绝",
    edit: "编辑",
    edited: "将按你的修改执行。",
    invalid: "请先更正参数。",
    details: "详情",
    reason: "原因（将发送给模型）",
    back: "返回",
    sending: "正在发送…",
    sent: "已发送，等待运行继续。",
  },
});

/** Progress of sending the response. */
export type SubmitState =
  | { readonly kind: "idle" | "sending" | "sent" }
  /** The server rejected the response or did not reply. */
  | { readonly kind: "failed"; readonly outcome: CommandResult };

export interface ApprovalFormProps {
  readonly requested: JsonObject;
  readonly stateKey: string;
  readonly phase: SubmitState;
  /** The summary shows all arguments, so that they are details. */
  readonly hasSummary: boolean;
  /** Offers to allow all calls of the tool in the session. */
  readonly canAllowAlways: boolean;
  readonly onAnswer: (
    decision: ApprovalResponse["decision"],
    more: Pick<ApprovalResponse, "arguments" | "reason"> & { readonly isAlways?: boolean },
  ) => void;
}

/** What is open below the buttons. */
type OpenSection = "edit" | "reject" | undefined;

export function ApprovalForm(props: ApprovalFormProps): ReactNode {
  const { requested, stateKey, phase, hasSummary, canAllowAlways, onAnswer } = props;
  const words = useWords(WORDS);
  const commandWords = useWords(COMMAND_WORDS);
  const [section, setSection] = useCachedState<OpenSection>(`${stateKey}/section`, undefined);
  const [edit, setEdit] = useCachedState<ApprovalEdit | undefined>(`${stateKey}/edit`, undefined);
  const [reason, setReason] = useCachedState(`${stateKey}/reason`, "");
  // A section restored by scrolling back must not take the focus.
  const [isFresh, setFresh] = useState(false);
  const element = useRef<HTMLDivElement>(null);
  const isChanged = edit?.reading.kind === "ready" && edit.reading.isChanged;
  const isFaulty = edit !== undefined && edit.reading.kind !== "ready";
  const isBusy = phase.kind === "sending" || phase.kind === "sent";
  const open = (wanted: OpenSection): void => {
    if (section === wanted) {
      element.current?.querySelector<HTMLElement>("input, textarea")?.focus();
      return;
    }
    setFresh(true);
    setSection(wanted);
  };
  const close = (name: "edit" | "reject"): void => {
    setSection(undefined);
    element.current?.querySelector<HTMLElement>(`[data-opens="${name}"]`)?.focus();
  };
  const allow = (isAlways: boolean): void => {
    const changes =
      edit?.reading.kind === "ready" && edit.reading.isChanged ? { arguments: edit.reading.arguments } : {};
    onAnswer("approved", isAlways ? { ...changes, isAlways } : changes);
  };
  const reject = (): void => onAnswer("rejected", reason.trim() === "" ? {} : { reason: reason.trim() });
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Escape" || event.nativeEvent.isComposing) return;
    // On the page, Escape stops the run.
    event.stopPropagation();
    if (section !== "reject") return;
    // The list of runs is a dialog, which would close.
    event.preventDefault();
    close("reject");
  };
  const note = isFaulty ? words.invalid : isChanged ? words.edited : null;
  return (
    <div ref={element} className="loom-approval-form" onKeyDown={onKeyDown}>
      <div className="loom-approval-buttons">
        <Button variant="primary" icon="check" disabled={isBusy || isFaulty} onClick={() => allow(false)}>
          {words.allow}
        </Button>
        {canAllowAlways ? (
          <Button disabled={isBusy || isFaulty} onClick={() => allow(true)}>
            {words.allowAlways}
          </Button>
        ) : null}
        <Button
          variant="danger"
          disabled={isBusy}
          data-opens="reject"
          aria-expanded={section === "reject"}
          onClick={() => open("reject")}
        >
          {words.reject}
        </Button>
        <Button
          icon="edit"
          disabled={isBusy}
          data-opens="edit"
          aria-expanded={section === "edit"}
          onClick={() => open("edit")}
        >
          {words.edit}
        </Button>
      </div>
      <p className="loom-approval-note" role="status" data-trouble={phase.kind === "failed" || isFaulty}>
        {phase.kind === "sending" ? <Spinner /> : null}
        {phase.kind === "sending"
          ? words.sending
          : phase.kind === "sent"
            ? words.sent
            : phase.kind === "failed"
              ? describeCommandFailure(phase.outcome, commandWords)
              : note}
      </p>
      {section === "reject" ? (
        <div className="loom-approval-section">
          <RejectReason reason={reason} isDisabled={isBusy} isFresh={isFresh} onChange={setReason} />
          <div className="loom-approval-buttons">
            <Button variant="danger" icon="reject" disabled={isBusy} onClick={reject}>
              {words.rejectNow}
            </Button>
            <Button disabled={isBusy} onClick={() => close("reject")}>
              {words.back}
            </Button>
          </div>
        </div>
      ) : section === "edit" ? (
        <ApprovalEditor
          requested={requested}
          edit={edit}
          isDisabled={isBusy}
          isFresh={isFresh}
          onChange={setEdit}
          onDiscard={() => {
            setEdit(undefined);
            close("edit");
          }}
        />
      ) : hasSummary ? (
        <Disclosure summary={words.details}>
          <ArgumentsView arguments={requested} argumentsText="" argumentsInvalid={false} isStreaming={false} />
        </Disclosure>
      ) : null}
    </div>
  );
}

interface RejectReasonProps {
  readonly reason: string;
  readonly isDisabled: boolean;
  readonly isFresh: boolean;
  readonly onChange: (reason: string) => void;
}

function RejectReason({ reason, isDisabled, isFresh, onChange }: RejectReasonProps): ReactNode {
  const words = useWords(WORDS);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (isFresh) field.current?.focus();
  }, []);
  return (
    <label className="loom-field">
      <span>{words.reason}</span>
      <textarea
        ref={field}
        dir="auto"
        rows={2}
        value={reason}
        disabled={isDisabled}
        onChange={(event) => onChange(event.target.value)}
      />
    </label>
  );
}

const EDITOR_WORDS = defineWords({ en: { discard: "Discard changes" }, zh: { discard: "放弃修改" } });

/** The edited arguments, and what they are read as. */
interface ApprovalEdit {
  readonly draft: ApprovalDraft;
  readonly reading: DraftParseResult;
}

interface ApprovalEditorProps {
  readonly requested: JsonObject;
  /** Undefined before the first change. */
  readonly edit: ApprovalEdit | undefined;
  readonly isDisabled: boolean;
  /** The user has just opened the editor, so that its first field gets the focus. */
  readonly isFresh: boolean;
  readonly onChange: (edit: ApprovalEdit) => void;
  readonly onDiscard: () => void;
}

/** Editor of the arguments in an approval request. */
function ApprovalEditor(props: ApprovalEditorProps): ReactNode {
  const { requested, edit, isDisabled, isFresh, onChange, onDiscard } = props;
  const words = useWords(EDITOR_WORDS);
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
