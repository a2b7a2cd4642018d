/**
 * The answer to whether a tool may run, while it is made up: the arguments, edited or not, a yes, or a no with its reason.
 * Enter in a field answers nothing: only a button does.
 */
import { type ReactNode, useEffect, useRef } from "react";
import type { CommandOutcome } from "../../client/index.ts";
import type { JsonObject } from "../../protocol/index.ts";
import { Button } from "../ui/button.tsx";
import { Spinner } from "../ui/indicators.tsx";
import { useKeptState } from "../ui/kept-state.tsx";
import type { ApprovalAnswer } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { type ApprovalDraft, beginDraft, readDraft } from "./approval-draft.ts";
import { ApprovalFields } from "./approval-fields.tsx";
import { ArgumentsView } from "./arguments-view.tsx";
import { COMMAND_WORDS, tellTrouble } from "./command-words.ts";

const WORDS = defineWords({
  en: {
    approve: "Approve",
    approveChanged: "Approve with changes",
    reject: "Reject…",
    rejectNow: "Reject",
    edit: "Edit arguments",
    undo: "Discard changes",
    reason: "Reason (the model is told)",
    back: "Back",
    sending: "Sending the answer…",
    sent: "Answered. Waiting for the run to take it up.",
  },
  zh: {
    approve: "批准",
    approveChanged: "按修改后的参数批准",
    reject: "拒绝…",
    rejectNow: "拒绝",
    edit: "编辑参数",
    undo: "放弃修改",
    reason: "理由（会告知模型）",
    back: "返回",
    sending: "正在提交答复…",
    sent: "已答复，等待运行继续。",
  },
});

/** Where an answer is on its way. */
export type AnswerPhase =
  | { readonly kind: "idle" | "sending" | "sent" }
  /** The answer was not taken, or nobody knows. */
  | { readonly kind: "trouble"; readonly outcome: CommandOutcome };

export interface ApprovalQuestionProps {
  readonly asked: JsonObject;
  readonly place: string;
  readonly phase: AnswerPhase;
  readonly onAnswer: (decision: ApprovalAnswer["decision"], more: Pick<ApprovalAnswer, "arguments" | "reason">) => void;
}

export function ApprovalQuestion({ asked, place, phase, onAnswer }: ApprovalQuestionProps): ReactNode {
  const words = useWords(WORDS);
  const commandWords = useWords(COMMAND_WORDS);
  const [draft, setDraft] = useKeptState<ApprovalDraft | undefined>(`${place}/draft`, undefined);
  const [reason, setReason] = useKeptState<string | undefined>(`${place}/reason`, undefined);
  const reading = draft === undefined ? undefined : readDraft(draft, asked);
  const isChanged = reading?.kind === "ready" && reading.isChanged;
  const isFaulty = reading !== undefined && reading.kind !== "ready";
  const isBusy = phase.kind === "sending" || phase.kind === "sent";
  const approve = (): void => onAnswer("approved", isChanged ? { arguments: reading.arguments } : {});
  const reject = (): void => {
    const said = reason?.trim() ?? "";
    onAnswer("rejected", said === "" ? {} : { reason: said });
  };
  return (
    <>
      {draft === undefined || reading === undefined ? (
        <ArgumentsView arguments={asked} argumentsText="" argumentsInvalid={false} isStreaming={false} />
      ) : (
        <ApprovalFields draft={draft} reading={reading} asked={asked} isDisabled={isBusy} onChange={setDraft} />
      )}
      {reason === undefined ? null : (
        <RejectReason reason={reason} isDisabled={isBusy} onChange={setReason} onCancel={() => setReason(undefined)} />
      )}
      <div className="loom-approval-buttons">
        {reason === undefined ? (
          <>
            <Button look="primary" icon="check" disabled={isBusy || isFaulty} onClick={approve}>
              {isChanged ? words.approveChanged : words.approve}
            </Button>
            <Button look="danger" icon="close" disabled={isBusy} onClick={() => setReason("")}>
              {words.reject}
            </Button>
            <Button
              icon={draft === undefined ? "edit" : "close"}
              disabled={isBusy}
              onClick={() => setDraft(draft === undefined ? beginDraft(asked) : undefined)}
            >
              {draft === undefined ? words.edit : words.undo}
            </Button>
          </>
        ) : (
          <>
            <Button look="danger" icon="close" disabled={isBusy} onClick={reject}>
              {words.rejectNow}
            </Button>
            <Button disabled={isBusy} onClick={() => setReason(undefined)}>
              {words.back}
            </Button>
          </>
        )}
      </div>
      <p className="loom-approval-note" role="status" data-trouble={phase.kind === "trouble"}>
        {phase.kind === "sending" ? <Spinner /> : null}
        {phase.kind === "sending"
          ? words.sending
          : phase.kind === "sent"
            ? words.sent
            : phase.kind === "trouble"
              ? tellTrouble(phase.outcome, commandWords)
              : null}
      </p>
    </>
  );
}

interface RejectReasonProps {
  readonly reason: string;
  readonly isDisabled: boolean;
  readonly onChange: (reason: string) => void;
  readonly onCancel: () => void;
}

function RejectReason({ reason, isDisabled, onChange, onCancel }: RejectReasonProps): ReactNode {
  const words = useWords(WORDS);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  return (
    <label className="loom-field">
      <span>{words.reason}</span>
      <textarea
        ref={field}
        rows={2}
        value={reason}
        disabled={isDisabled}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape" || event.nativeEvent.isComposing) return;
          event.stopPropagation();
          onCancel();
        }}
      />
    </label>
  );
}
