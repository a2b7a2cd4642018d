/**
 * The question whether a tool may run, and what became of it. The answer is the session's, not this page's: what was
 * decided, by whom and why comes from the view, whichever page it was decided on.
 */
import { type ReactNode, useEffect, useRef, useState } from "react";
import type { ApprovalView, CommandOutcome, ToolCall } from "../../client/index.ts";
import { Icon } from "../ui/icon.tsx";
import { type ApprovalAnswer, type UiActions, useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { type AnswerPhase, ApprovalQuestion } from "./approval-question.tsx";
import { ArgumentsView } from "./arguments-view.tsx";
import { Countdown } from "./clock-text.tsx";
import { cutHead } from "./cut-text.ts";
import { ShortText } from "./log-box.tsx";
import { revealHidden } from "./reveal-hidden.ts";

const WORDS = defineWords({
  en: {
    unnamed: "a tool",
    question: (tool: string) => `May ${tool} run with these arguments?`,
    left: (time: string) => `${time} left to answer`,
    timeUp: "The time to answer is up.",
    nobody: "Waiting for an answer by somebody who may approve this. It cannot be given here.",
    tooLate: "Your answer came too late.",
    approved: "Approved",
    approvedBy: (actor: string) => `Approved by ${actor}`,
    rejected: "Rejected",
    rejectedBy: (actor: string) => `Rejected by ${actor}`,
    expired: "Nobody answered in time, so it was not run.",
    over: "The run ended before this was answered.",
  },
  zh: {
    unnamed: "某个工具",
    question: (tool: string) => `是否允许 ${tool} 以这些参数运行？`,
    left: (time: string) => `剩余 ${time}`,
    timeUp: "答复时间已到。",
    nobody: "正在等待有权批准的人答复，此处无法答复。",
    tooLate: "你的答复来晚了。",
    approved: "已批准",
    approvedBy: (actor: string) => `已由 ${actor} 批准`,
    rejected: "已拒绝",
    rejectedBy: (actor: string) => `已由 ${actor} 拒绝`,
    expired: "无人及时答复，因此没有运行。",
    over: "运行在得到答复之前就结束了。",
  },
});

const MAX_NAME = 80;

export interface ApprovalCardProps {
  readonly call: ToolCall;
  readonly approval: ApprovalView;
  /** Unique within the session. */
  readonly place: string;
  readonly runId: string | undefined;
  readonly isLive: boolean;
  /** It was answered here. */
  readonly onAnswer?: (() => void) | undefined;
}

export function ApprovalCard({ call, approval, place, runId, isLive, onAnswer }: ApprovalCardProps): ReactNode {
  const words = useWords(WORDS);
  const { actions } = useUi();
  const [phase, setPhase] = useState<AnswerPhase>({ kind: "idle" });
  const answer = (decision: ApprovalAnswer["decision"], more: Pick<ApprovalAnswer, "arguments" | "reason">): void => {
    if (phase.kind === "sending") return;
    setPhase({ kind: "sending" });
    onAnswer?.();
    void send(actions, { callId: call.toolId, runId, decision, digest: approval.digest, ...more }).then((outcome) => {
      const isTaken = outcome.kind === "done" || outcome.kind === "accepted";
      setPhase(isTaken ? { kind: "sent" } : { kind: "trouble", outcome });
    });
  };
  if (approval.decision !== "pending") {
    const isLate = phase.kind === "trouble" && "code" in phase.outcome && phase.outcome.code === "already_answered";
    return (
      <Decision
        approval={approval}
        note={isLate ? words.tooLate : undefined}
        isOver={call.status === "interrupted"}
        isOurs={phase.kind !== "idle"}
      />
    );
  }
  const canAnswer = isLive && actions.approve !== undefined;
  const question = words.question(
    call.toolName === "" ? words.unnamed : revealHidden(cutHead(call.toolName, MAX_NAME)),
  );
  return (
    <div className="loom-approval" role="group" aria-label={question}>
      <p className="loom-approval-question">
        <Icon name="alert" />
        <span>{question}</span>
        {approval.expiresAt === undefined ? null : (
          <Countdown until={approval.expiresAt} say={words.left} over={words.timeUp} />
        )}
      </p>
      {canAnswer ? (
        <ApprovalQuestion asked={approval.arguments} place={place} phase={phase} onAnswer={answer} />
      ) : (
        <>
          <ArgumentsView arguments={approval.arguments} argumentsText="" argumentsInvalid={false} isStreaming={false} />
          <p className="loom-approval-note">{isLive ? words.nobody : words.over}</p>
        </>
      )}
    </div>
  );
}

/** Whoever sends may fail in ways of their own. */
async function send(actions: UiActions, answer: ApprovalAnswer): Promise<CommandOutcome> {
  try {
    if (actions.approve !== undefined) return await actions.approve(answer);
  } catch {
    // As if it had been sent and nothing came back.
  }
  return { kind: "lost", code: "connection_lost", message: "" };
}

interface DecisionProps {
  readonly approval: ApprovalView;
  readonly note: string | undefined;
  readonly isOver: boolean;
  /** It was asked for here. */
  readonly isOurs: boolean;
}

function Decision({ approval: { decision, actor, reason }, note, isOver, isOurs }: DecisionProps): ReactNode {
  const words = useWords(WORDS);
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // The button that was pressed is gone: the keyboard goes on where it was.
    if (isOurs && document.activeElement === document.body) element.current?.focus({ preventScroll: true });
  }, [isOurs]);
  const by = actor === undefined ? undefined : cutHead(actor, MAX_NAME);
  const said =
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
      <Icon name={decision === "approved" ? "check" : "close"} />
      <div>
        {note === undefined ? null : <p className="loom-approval-note">{note}</p>}
        <p>{said}</p>
        {reason === undefined || reason === "" ? null : (
          <blockquote>
            <ShortText text={reason} />
          </blockquote>
        )}
      </div>
    </div>
  );
}
