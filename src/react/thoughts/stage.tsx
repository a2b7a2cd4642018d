/**
 * The current stage of a run in one line. Screen readers announce stage changes, but not numbers within a stage or the
 * elapsed time.
 */
import { memo, type ReactNode, useState } from "react";
import type { StreamState, TurnView } from "../../client/index.ts";
import { useSecondsFormat } from "../parts/clock-text.tsx";
import { Icon } from "../ui/icon.tsx";
import { Spinner } from "../ui/indicators.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { useIsOffline, useNow } from "../ui/use-now.ts";
import { defineWords, useWords } from "../ui/words.ts";
import { isAway as isStreamAway } from "./describe-stream.ts";
import { findStage, type Stage } from "./find-stage.ts";
import { cutText } from "../../protocol/cut-text.ts";

export interface StageLineProps {
  readonly turn: TurnView;
  /** State of the session's stream. While the connection is lost, the stage of the run is unknown. */
  readonly state?: StreamState | undefined;
}

/**
 * Shows the current stage of a run and its elapsed time. Renders nothing once the run has ended.
 *
 * ```tsx
 * <StageLine turn={run} state={session.state} />
 * ```
 */
export function StageLine({ turn, state }: StageLineProps): ReactNode {
  const words = useWords(STAGE_WORDS);
  const { isQuiet = false, actions } = useUi();
  const isOffline = useIsOffline();
  const stage = findStage(turn);
  if (stage === undefined) return null;
  const isAway = isStreamAway(state);
  const { title, detail } = isAway
    ? { title: isOffline ? words.offline : words.away, detail: "" }
    : describeStage(stage, actions.approve === undefined ? { ...words, approval: words.approvalByOthers } : words);
  const isWaiting = stage.kind === "approval";
  // The page announces approvals itself, for all sessions; the stream status announces a lost connection.
  const isSaid = !isQuiet && !isWaiting && !isAway;
  return (
    <div className="loom-stage" data-stage={isAway ? "away" : stage.kind}>
      {isAway ? <Icon name="away" /> : isWaiting ? <Icon name="ask" /> : <Spinner />}
      <span role={isSaid ? "status" : undefined} className="loom-stage-title">
        {title}
      </span>
      {detail === "" ? null : <span className="loom-stage-detail">{detail}</span>}
      <Elapsed key="clock" since={turn.startedAt} isStopped={isAway} />
    </div>
  );
}

type StageWords = (typeof STAGE_WORDS)["en"];

export interface StageText {
  /** Announced on change; constant within a stage. */
  readonly title: string;
  readonly detail: string;
}

/** Names come from the stream and may be long. */
const SHOWN_NAME = 60;
const SHOWN_MESSAGE = 120;

export function describeStage(stage: Stage, words: StageWords): StageText {
  switch (stage.kind) {
    case "thinking":
      return { title: describeThinking(stage.stage, words), detail: "" };
    case "approval":
    case "preparing":
    case "client":
    case "calling": {
      const message = stage.kind === "calling" ? (stage.message ?? "") : "";
      const others = stage.others === 0 ? "" : words.others(stage.others);
      return {
        title: words[stage.kind](cutText(stage.tool, SHOWN_NAME)),
        detail: [others, cutText(message, SHOWN_MESSAGE)].filter((each) => each !== "").join(" · "),
      };
    }
    case "expanding":
    case "judging":
    case "backtracking":
    case "searching":
      // Expanding and evaluating alternate quickly, so only the search itself is announced. The tree shows its numbers.
      return { title: words.searching, detail: stage.kind === "searching" ? "" : words[stage.kind] };
    case "graph": {
      const names = stage.nodes.map((name) => cutText(name, SHOWN_NAME)).join(words.and);
      return { title: words.graph, detail: names + (stage.more === 0 ? "" : words.more(stage.more)) };
    }
    default:
      return { title: words[stage.kind], detail: "" };
  }
}

function describeThinking(stage: string | undefined, words: StageWords): string {
  switch (stage) {
    case "planning":
      return words.thinkingPlanning;
    case "analyzing":
      return words.thinkingAnalyzing;
    case undefined:
    case "reasoning":
      return words.thinking;
    default:
      return words.thinkingOther(cutText(stage, SHOWN_NAME));
  }
}

const SECOND_MS = 1000;
/** Start times further off than this come from a wrong clock and are ignored. */
const PLAUSIBLE_MS = 24 * 3600 * 1000;

interface ElapsedProps {
  readonly since: number | undefined;
  /** Keeps the time that was shown last. */
  readonly isStopped: boolean;
}

/** Re-renders alone, once a second. */
const Elapsed = memo(function Elapsed({ since, isStopped }: ElapsedProps): ReactNode {
  const formatSeconds = useSecondsFormat();
  const now = useNow();
  const [mountedAt] = useState(now);
  const [shownAt, setShownAt] = useState(now);
  const at = isStopped ? shownAt : now;
  if (at !== shownAt) setShownAt(at);
  const isPlausible = since !== undefined && since <= at && at - since < PLAUSIBLE_MS;
  const seconds = Math.max(0, Math.floor((at - (isPlausible ? since : mountedAt)) / SECOND_MS));
  return <span className="loom-stage-clock">{formatSeconds(seconds)}</span>;
});

/** UI strings of the stage line. */
export const STAGE_WORDS = defineWords({
  en: {
    starting: "Starting",
    planning: "Planning steps",
    retrieving: "Searching sources",
    answering: "Answering",
    finishing: "Finishing",
    working: "Working",
    away: "Waiting for the server",
    offline: "Offline. The run continues on the server.",
    thinking: "Thinking",
    thinkingPlanning: "Thinking: planning",
    thinkingAnalyzing: "Thinking: analyzing",
    thinkingOther: (stage: string) => `Thinking: ${stage}`,
    approval: (tool: string) => `Waiting for your approval: ${tool}`,
    approvalByOthers: (tool: string) => `Waiting for approval: ${tool}`,
    preparing: (tool: string) => `Preparing: ${tool}`,
    calling: (tool: string) => tool,
    client: (tool: string) => `Waiting for the client: ${tool}`,
    others: (count: number) => (count === 1 ? "+1 more" : `+${count} more`),
    searching: "Exploring thoughts",
    expanding: "expanding",
    judging: "evaluating",
    backtracking: "backtracking",
    graph: "Running steps",
    and: ", ",
    more: (count: number) => `, +${count} more`,
  },
  zh: {
    starting: "正在启动",
    planning: "正在规划步骤",
    retrieving: "正在检索资料",
    answering: "正在回答",
    finishing: "即将完成",
    working: "正在处理",
    away: "等待服务器恢复",
    offline: "已离线，运行在服务器上继续。",
    thinking: "正在思考",
    thinkingPlanning: "正在思考：规划",
    thinkingAnalyzing: "正在思考：分析",
    thinkingOther: (stage: string) => `正在思考：${stage}`,
    approval: (tool: string) => `等待你审批：${tool}`,
    approvalByOthers: (tool: string) => `等待审批：${tool}`,
    preparing: (tool: string) => `正在准备：${tool}`,
    calling: (tool: string) => tool,
    client: (tool: string) => `等待客户端：${tool}`,
    others: (count: number) => `另有 ${count} 个`,
    searching: "正在探索想法",
    expanding: "扩展",
    judging: "评估",
    backtracking: "回溯",
    graph: "正在执行步骤",
    and: "、",
    more: (count: number) => ` 及另外 ${count} 个`,
  },
});
