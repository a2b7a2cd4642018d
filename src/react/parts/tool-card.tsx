/**
 * A tool call: arguments, approval, output and result. Open while it runs or needs an answer, collapsed after success,
 * unless the user toggled it.
 */
import { lazy, type ReactNode, Suspense, useMemo } from "react";
import type { ToolCall } from "../../client/index.ts";
import type { ToolResult } from "../../client/view.ts";
import { Disclosure } from "../ui/disclosure.tsx";
import { formatDuration } from "../ui/format.ts";
import { Icon, type IconName } from "../ui/icon.tsx";
import { Badge, type BadgeTone, ProgressBar, Spinner } from "../ui/indicators.tsx";
import { useCachedState } from "../ui/ui-state-cache.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { ArgumentsView } from "./arguments-view.tsx";
import { CallFacts } from "./call-facts.tsx";
import { describeCall, namesArgument } from "./describe-action.ts";
import { gistValue, isContainer, isEmpty, readJsonText } from "./json-entries.ts";
import { JsonView } from "./json-view.tsx";
import { LogBox, ShortText } from "./log-box.tsx";
import { revealHidden } from "./reveal-hidden.ts";
import { cutText } from "../../protocol/cut-text.ts";

const WORDS = defineWords({
  en: {
    unnamed: "Unnamed tool",
    from: (server: string) => `from ${server}`,
    arguments: "Arguments",
    progress: "Progress",
    output: "Output",
    result: "Result",
    empty: "No result.",
    error: "Error",
  },
  zh: {
    unnamed: "未命名工具",
    from: (server: string) => `来自 ${server}`,
    arguments: "参数",
    progress: "进度",
    output: "输出",
    result: "结果",
    empty: "无返回内容。",
    error: "错误",
  },
});

/** Few tools need approval. */
const ApprovalCard = lazy(async () => ({ default: (await import("./approval-card.tsx")).ApprovalCard }));

const MAX_NAME = 100;
const MAX_PROGRESS = 200;
/** Longest text result that is parsed as JSON. */
const MAX_PARSED = 262_144;

export interface ToolCardProps {
  readonly call: ToolCall;
  /** Key of the tool's part; unique within the message. */
  readonly partKey: string;
  /** Key of the run, as in `TurnView.key`. */
  readonly turnKey: string;
  /** Id of the run, sent with approvals. */
  readonly runId: string | undefined;
  /** The run is live. */
  readonly isLive: boolean;
}

interface ToolCardState {
  readonly isOpen: boolean;
  /** The user toggled the card while it awaited approval. An earlier toggle must not hide the request. */
  readonly wasAwaitingApproval: boolean;
}

/**
 * Shows a tool call with its arguments, approval, output and result.
 *
 * ```tsx
 * {part.type === "tool" && (
 *   <ToolCard call={part.call} partKey={part.key} turnKey={run.key} runId={run.runId} isLive={isLive} />
 * )}
 * ```
 */
export function ToolCard({ call, partKey, turnKey, runId, isLive }: ToolCardProps): ReactNode {
  const words = useWords(WORDS);
  const { language } = useUi();
  const stateKey = `${turnKey}/${partKey}`;
  const [choice, setChoice] = useCachedState<ToolCardState | undefined>(`${stateKey}/open`, undefined);
  const { status, durationMs, progress, progressMessage } = call;
  const isAwaitingApproval = status === "awaiting_approval";
  const isOpen =
    choice === undefined || (isAwaitingApproval && !choice.wasAwaitingApproval) ? status !== "success" : choice.isOpen;
  const isGoing = isLive && (status === "running" || status === "awaiting_client");
  const { server } = call;
  const described = describeCall(call);
  const title = described === "" ? words.unnamed : described;
  const hasGist = !isOpen && call.summary === undefined && !namesArgument(title, call.arguments);
  const summary = (
    <span className="loom-tool-head">
      <span className="loom-tool-label">
        <Icon name="tool" />
        <span className="loom-tool-name" dir="auto">
          {title}
        </span>
        {server === undefined ? null : (
          <span className="loom-tool-server">{words.from(revealHidden(cutText(server, MAX_NAME)))}</span>
        )}
      </span>
      <span className="loom-tool-gist">{hasGist ? gistValue(call.arguments) : null}</span>
      <span className="loom-tool-state">
        <ToolStatus call={call} />
        {durationMs === undefined ? null : <span className="loom-clock">{formatDuration(durationMs, language)}</span>}
      </span>
    </span>
  );
  return (
    <div className="loom-card loom-tool" role="group" data-status={status} aria-label={title}>
      <Disclosure
        summary={summary}
        isOpen={isOpen}
        onToggle={(wanted) => setChoice({ isOpen: wanted, wasAwaitingApproval: isAwaitingApproval })}
      >
        <ToolBody
          call={call}
          stateKey={stateKey}
          runId={runId}
          isLive={isLive}
          // Keep the card open after answering, so that the result is visible and focus stays.
          onAnswer={() => setChoice({ isOpen: true, wasAwaitingApproval: true })}
        />
      </Disclosure>
      {isGoing && (progress !== undefined || progressMessage !== undefined) ? (
        <div className="loom-tool-progress">
          {progress === undefined ? null : <ProgressBar value={progress} label={words.progress} />}
          <span>{progressMessage === undefined ? `${progress} %` : cutText(progressMessage, MAX_PROGRESS)}</span>
        </div>
      ) : null}
    </div>
  );
}

interface ToolBodyProps {
  readonly call: ToolCall;
  readonly stateKey: string;
  readonly runId: string | undefined;
  readonly isLive: boolean;
  readonly onAnswer: () => void;
}

function ToolBody({ call, stateKey, runId, isLive, onAnswer }: ToolBodyProps): ReactNode {
  const words = useWords(WORDS);
  const { status, output, error, result, approval } = call;
  const isStreaming = status === "streaming";
  // The decision says everything the error would.
  const isRefused = approval?.decision === "rejected" || approval?.decision === "expired";
  return (
    <div className="loom-tool-body">
      {approval?.decision === "pending" ? null : (
        <>
          <CallFacts call={call} />
          <ToolSection title={words.arguments}>
            <ArgumentsView
              arguments={call.arguments}
              // The raw text is needed only while there is no parsed value.
              argumentsText={call.argumentsInvalid || isEmpty(call.arguments) ? call.argumentsText : ""}
              argumentsInvalid={call.argumentsInvalid}
              isStreaming={isStreaming && isLive}
            />
          </ToolSection>
        </>
      )}
      {approval === undefined ? null : (
        <Suspense fallback={<Spinner />}>
          <ApprovalCard
            call={call}
            approval={approval}
            stateKey={stateKey}
            runId={runId}
            isLive={isLive}
            onAnswer={onAnswer}
          />
        </Suspense>
      )}
      {output === "" ? null : (
        <ToolSection title={words.output}>
          <LogBox text={output} label={words.output} end="last" isLive={isLive && status === "running"} />
        </ToolSection>
      )}
      {error === undefined || isRefused ? null : (
        <ToolSection title={words.error}>
          <div className="loom-tool-error">
            <ShortText text={error.message} />
            {error.code === undefined ? null : <code>{cutText(error.code, MAX_NAME)}</code>}
          </div>
        </ToolSection>
      )}
      {result === undefined || error !== undefined ? null : (
        <ToolSection title={words.result}>
          <ResultView result={result} />
        </ToolSection>
      )}
    </div>
  );
}

function ToolSection({ title, children }: { readonly title: string; readonly children: ReactNode }): ReactNode {
  return (
    <div className="loom-tool-section">
      <div className="loom-tool-title">{title}</div>
      {children}
    </div>
  );
}

function ResultView({ result: { text, data } }: { readonly result: ToolResult }): ReactNode {
  const words = useWords(WORDS);
  const tree = useMemo(
    () => (data !== undefined && isContainer(data) ? data : readJsonText(text, MAX_PARSED)),
    [text, data],
  );
  if (tree !== undefined) return <JsonView value={tree} label={words.result} />;
  if (text === "") return <p className="loom-tool-description">{words.empty}</p>;
  return <LogBox text={text} label={words.result} end="first" />;
}

const STATUS_WORDS = defineWords({
  en: {
    streaming: "Writing arguments",
    ready: "Ready",
    awaiting_approval: "Waiting for approval",
    awaiting_client: "Waiting for the client",
    running: "Running",
    success: "Done",
    failed: "Failed",
    rejected: "Rejected",
    expired: "Expired",
    interrupted: "Interrupted",
  },
  zh: {
    streaming: "正在生成参数",
    ready: "已就绪",
    awaiting_approval: "等待审批",
    awaiting_client: "等待客户端",
    running: "执行中",
    success: "完成",
    failed: "失败",
    rejected: "已拒绝",
    expired: "已超时",
    interrupted: "已中断",
  },
});

const STATUS_BADGES: { readonly [S in ToolCall["status"]]: { readonly icon: IconName; readonly tone: BadgeTone } } = {
  streaming: { icon: "edit", tone: "busy" },
  ready: { icon: "tool", tone: "plain" },
  awaiting_approval: { icon: "ask", tone: "warn" },
  awaiting_client: { icon: "clock", tone: "busy" },
  running: { icon: "play", tone: "busy" },
  success: { icon: "check", tone: "good" },
  failed: { icon: "alert", tone: "bad" },
  rejected: { icon: "reject", tone: "bad" },
  interrupted: { icon: "stop", tone: "warn" },
};

/** Status badge of a tool call: icon, text and colour, each sufficient alone. */
function ToolStatus({ call: { status, approval } }: { readonly call: ToolCall }): ReactNode {
  const words = useWords(STATUS_WORDS);
  const { icon, tone } = STATUS_BADGES[status];
  const isExpired = status === "rejected" && approval?.decision === "expired";
  return (
    <Badge tone={tone}>
      {status === "running" ? <Spinner /> : <Icon name={icon} />}
      {isExpired ? words.expired : words[status]}
    </Badge>
  );
}
