/**
 * The form to answer an approval request: edit the arguments, approve, or reject with a reason. Only the buttons
 * submit; Enter in a field does not.
 */
import { type ReactNode, useEffect, useRef } from "react";
import type { CommandResult } from "../../client/index.ts";
import type { JsonObject } from "../../protocol/index.ts";
import { Button } from "../ui/button.tsx";
import { Spinner } from "../ui/indicators.tsx";
import { useCachedState } from "../ui/ui-state-cache.tsx";
import type { ApprovalResponse } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { type ApprovalDraft, createDraft, readDraft } from "./approval-draft.ts";
import { ApprovalFields } from "./approval-fields.tsx";
import { ArgumentsView } from "./arguments-view.tsx";
import { COMMAND_WORDS, describeCommandFailure } from "./command-words.ts";

const WORDS = defineWords({
  en: {
    approve: "Approve",
    approveChanged: "Approve with changes",
    reject: "Reject…",
    rejectNow: "Reject",
    edit: "Edit arguments",
    undo: "Discard changes",
    reason: "Reason (sent to the model)",
    back: "Back",
    sending: "Sending…",
    sent: "Sent. Waiting for the run to continue.",
  },
  zh: {
    approve: "批准",
    approveChanged: "按修改后的参数批准",
    reject: "拒绝…",
    rejectNow: "拒绝",
    edit: "编辑参数",
    undo: "放弃修改",
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
  readonly onAnswer: (
    decision: ApprovalResponse["decision"],
    more: Pick<ApprovalResponse, "arguments" | "reason">,
  ) => void;
}

export function ApprovalForm({ requested, stateKey, phase, onAnswer }: ApprovalFormProps): ReactNode {
  const words = useWords(WORDS);
  const commandWords = useWords(COMMAND_WORDS);
  const [draft, setDraft] = useCachedState<ApprovalDraft | undefined>(`${stateKey}/draft`, undefined);
  const [reason, setReason] = useCachedState<string | undefined>(`${stateKey}/reason`, undefined);
  const reading = draft === undefined ? undefined : readDraft(draft, requested);
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
        <ArgumentsView arguments={requested} argumentsText="" argumentsInvalid={false} isStreaming={false} />
      ) : (
        <ApprovalFields draft={draft} reading={reading} requested={requested} isDisabled={isBusy} onChange={setDraft} />
      )}
      {reason === undefined ? null : (
        <RejectReason reason={reason} isDisabled={isBusy} onChange={setReason} onCancel={() => setReason(undefined)} />
      )}
      <div className="loom-approval-buttons">
        {reason === undefined ? (
          <>
            <Button variant="primary" icon="check" disabled={isBusy || isFaulty} onClick={approve}>
              {isChanged ? words.approveChanged : words.approve}
            </Button>
            <Button variant="danger" icon="close" disabled={isBusy} onClick={() => setReason("")}>
              {words.reject}
            </Button>
            <Button
              icon={draft === undefined ? "edit" : "close"}
              disabled={isBusy}
              onClick={() => setDraft(draft === undefined ? createDraft(requested) : undefined)}
            >
              {draft === undefined ? words.edit : words.undo}
            </Button>
          </>
        ) : (
          <>
            <Button variant="danger" icon="close" disabled={isBusy} onClick={reject}>
              {words.rejectNow}
            </Button>
            <Button disabled={isBusy} onClick={() => setReason(undefined)}>
              {words.back}
            </Button>
          </>
        )}
      </div>
      <p className="loom-approval-note" role="status" data-trouble={phase.kind === "failed"}>
        {phase.kind === "sending" ? <Spinner /> : null}
        {phase.kind === "sending"
          ? words.sending
          : phase.kind === "sent"
            ? words.sent
            : phase.kind === "failed"
              ? describeCommandFailure(phase.outcome, commandWords)
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
