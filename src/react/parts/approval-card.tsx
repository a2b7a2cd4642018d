/**
 * The approval request of a tool call and its outcome. The decision, actor and reason come from the session, so every
 * page shows the same outcome.
 */
import { lazy, type ReactNode, Suspense, useEffect, useRef, useState } from "react";
import type { CommandResult, ToolCall } from "../../client/index.ts";
import type { ApprovalView } from "../../client/view.ts";
import { Icon } from "../ui/icon.tsx";
import { Spinner } from "../ui/indicators.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import type { ApprovalFormProps, SubmitState } from "./approval-form.tsx";
import { ArgumentsView } from "./arguments-view.tsx";
import { CallFact, CallFacts } from "./call-facts.tsx";
import { Countdown } from "./clock-text.tsx";
import { COMMAND_WORDS, describeCommandFailure } from "./command-words.ts";
import { ACTION_WORDS, type ActionDescription, describeAction } from "./describe-action.ts";
import { DiffView } from "./diff-view.tsx";
import { gistValue } from "./json-entries.ts";
import { LogBox, ShortText } from "./log-box.tsx";
import { revealHidden } from "./reveal-hidden.ts";
import { cutText } from "../../protocol/cut-text.ts";

const WORDS = defineWords({
  en: {
    unnamed: "this tool",
    question: (tool: string) => `Allow ${tool}?`,
    arguments: "Arguments",
    left: (time: string) => `${time} left`,
    timeUp: "Expired",
    readOnly: "Waiting for approval from another user.",
    tooLate: "Already answered. Your response was not applied.",
    notAlways: (why: string) => `Later calls will ask again. ${why}`,
    approved: "Approved",
    approvedBy: (actor: string) => `Approved by ${actor}`,
    rejected: "Rejected",
    rejectedBy: (actor: string) => `Rejected by ${actor}`,
    expired: "Approval expired. The tool did not run.",
    over: "The run ended before approval.",
  },
  zh: {
    unnamed: "此工具",
    question: (tool: string) => `允许执行 ${tool}？`,
    arguments: "参数",
    left: (time: string) => `剩余 ${time}`,
    timeUp: "已超时",
    readOnly: "等待其他用户审批。",
    tooLate: "此请求已有答复，你的答复未生效。",
    notAlways: (why: string) => `之后的调用仍会询问。${why}`,
    approved: "已批准",
    approvedBy: (actor: string) => `已由 ${actor} 批准`,
    rejected: "已拒绝",
    rejectedBy: (actor: string) => `已由 ${actor} 拒绝`,
    expired: "审批已超时，工具未执行。",
    over: "运行在审批前已结束。",
  },
});

const ApprovalForm = lazy(async () => ({ default: (await import("./approval-form.tsx")).ApprovalForm }));

const MAX_NAME = 80;

export interface ApprovalCardProps {
  readonly call: ToolCall;
  readonly approval: ApprovalView;
  /** Key prefix of the cached UI state; unique within the session. */
  readonly stateKey: string;
  /** Id of the run, sent with approvals. */
  readonly runId: string | undefined;
  /** The run is live. */
  readonly isLive: boolean;
  /** Called when the user answers in this card. */
  readonly onAnswer?: (() => void) | undefined;
}

/**
 * Shows an approval request with a form to answer it, or its outcome. Read-only without `UiActions.approve`.
 *
 * ```tsx
 * {call.approval && (
 *   <ApprovalCard call={call} approval={call.approval} stateKey={call.toolId} runId={run.runId} isLive={isLive} />
 * )}
 * ```
 */
export function ApprovalCard({ call, approval, stateKey, runId, isLive, onAnswer }: ApprovalCardProps): ReactNode {
  const words = useWords(WORDS);
  const { actions } = useUi();
  const [phase, setPhase] = useState<SubmitState>({ kind: "idle" });
  const actionWords = useWords(ACTION_WORDS);
  const commandWords = useWords(COMMAND_WORDS);
  /** The call was approved, but its tool could not be allowed for the session. */
  const [refusal, setRefusal] = useState<CommandResult>();
  const answer: ApprovalFormProps["onAnswer"] = (decision, { isAlways = false, ...more }) => {
    if (phase.kind === "sending") return;
    setPhase({ kind: "sending" });
    onAnswer?.();
    const response = { callId: call.toolId, runId, decision, digest: approval.digest, ...more };
    void send(() => actions.approve?.(response)).then(async (outcome) => {
      setPhase(isTaken(outcome) ? { kind: "sent" } : { kind: "failed", outcome });
      if (!isTaken(outcome) || !isAlways) return;
      const allowed = await send(() => actions.allowTool?.(call.toolName, "allow"));
      if (!isTaken(allowed)) setRefusal(allowed);
    });
  };
  if (approval.decision !== "pending") {
    const isLate = phase.kind === "failed" && "code" in phase.outcome && phase.outcome.code === "already_answered";
    return (
      <Decision
        approval={approval}
        note={
          isLate
            ? words.tooLate
            : refusal === undefined
              ? undefined
              : words.notAlways(describeCommandFailure(refusal, commandWords) ?? "")
        }
        isOver={call.status === "interrupted"}
        wasAnsweredHere={phase.kind !== "idle"}
      />
    );
  }
  const canAnswer = isLive && actions.approve !== undefined;
  const { preview: diff } = approval;
  // A tool of a server is not the built-in tool whose name it has.
  const action =
    call.server === undefined
      ? describeAction(call.toolName, approval.arguments, actionWords, diff !== undefined)
      : undefined;
  const question = words.question(
    call.toolName === "" ? words.unnamed : revealHidden(cutText(call.toolName, MAX_NAME)),
  );
  return (
    <div className="loom-approval" role="group" aria-label={question}>
      <p className="loom-approval-question">
        <Icon name="ask" />
        <span>{question}</span>
        {approval.expiresAt === undefined ? null : (
          <Countdown until={approval.expiresAt} formatLeft={words.left} expiredText={words.timeUp} />
        )}
      </p>
      {action === undefined ? null : <ActionSummary action={action} diff={diff} />}
      <CallFacts call={call}>
        {action === undefined ? null : (
          // The summary shows them in full.
          <CallFact name={words.arguments} value={gistValue(approval.arguments)} />
        )}
      </CallFacts>
      {action === undefined ? (
        <>
          <ArgumentsView arguments={approval.arguments} argumentsText="" argumentsInvalid={false} isStreaming={false} />
          {diff === undefined ? null : <DiffView diff={diff} />}
        </>
      ) : null}
      {canAnswer ? (
        <Suspense fallback={<Spinner />}>
          <ApprovalForm
            requested={approval.arguments}
            stateKey={stateKey}
            phase={phase}
            hasSummary={action !== undefined}
            canAllowAlways={actions.allowTool !== undefined && call.toolName !== "" && action?.isQuestion !== true}
            onAnswer={answer}
          />
        </Suspense>
      ) : (
        <p className="loom-approval-note">{isLive ? words.readOnly : words.over}</p>
      )}
    </div>
  );
}

function isTaken({ kind }: CommandResult): boolean {
  return kind === "done" || kind === "accepted";
}

/** Sends a command. An exception counts as a lost connection. */
async function send(command: () => Promise<CommandResult> | undefined): Promise<CommandResult> {
  try {
    const outcome = await command();
    if (outcome !== undefined) return outcome;
  } catch {
    // Reported below as a lost connection.
  }
  return { kind: "lost", code: "connection_lost", message: "" };
}

interface DecisionProps {
  readonly approval: ApprovalView;
  readonly note: string | undefined;
  readonly isOver: boolean;
  /** The user answered in this card. */
  readonly wasAnsweredHere: boolean;
}

function Decision({ approval: { decision, actor, reason }, note, isOver, wasAnsweredHere }: DecisionProps): ReactNode {
  const words = useWords(WORDS);
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // The pressed button is gone, so focus moves to the outcome.
    if (wasAnsweredHere && document.activeElement === document.body) element.current?.focus({ preventScroll: true });
  }, [wasAnsweredHere]);
  const by = actor === undefined ? undefined : cutText(actor, MAX_NAME);
  const text =
    decision === "approved"
      ? by === undefined
        ? words.approved
        : words.approvedBy(by)
      : decision === "rejected"
        ? by === undefined
          ? words.rejected
          : words.rejectedBy(by)
        : isOver
          ? words.over
          : words.expired;
  return (
    <div className="loom-decision" data-decision={decision} ref={element} tabIndex={-1}>
      <Icon name={decision === "approved" ? "check" : "reject"} />
      <div>
        {note === undefined ? null : <p className="loom-approval-note">{note}</p>}
        <p>{text}</p>
        {reason === undefined || reason === "" ? null : (
          <blockquote>
            <ShortText text={reason} />
          </blockquote>
        )}
      </div>
    </div>
  );
}

interface ActionSummaryProps {
  readonly action: ActionDescription;
  /** Unified diff of what changes; shown in place of the text that is written. */
  readonly diff?: string | undefined;
}

/** What a tool call will do: a sentence, what it acts on, and what it changes or the text that it writes or sends. */
function ActionSummary({ action, diff }: ActionSummaryProps): ReactNode {
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
