/**
 * What a run is doing just now (003 §4.2), in one line. Those who listen are told when the stage changes; numbers that
 * change within a stage, and the clock, are shown and not said.
 */
import { memo, type ReactNode, useState } from "react";
import type { TurnView } from "../../client/index.ts";
import { useSeconds } from "../parts/clock-text.tsx";
import { cutHead } from "../parts/cut-text.ts";
import { Icon } from "../ui/icon.tsx";
import { ProgressBar, Spinner } from "../ui/indicators.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { useNow } from "../ui/use-now.ts";
import { useWords } from "../ui/words.ts";
import { findStage, type Stage } from "./find-stage.ts";
import { STAGE_WORDS } from "./stage-words.ts";

export function StageLine({ turn }: { readonly turn: TurnView }): ReactNode {
  const words = useWords(STAGE_WORDS);
  const { isQuiet = false, actions } = useUi();
  const stage = findStage(turn);
  if (stage === undefined) return null;
  const { title, detail } = describeStage(
    stage,
    actions.approve === undefined ? { ...words, approval: words.approvalByOthers } : words,
  );
  // That somebody is asked is for the page to say: it is about more than this run.
  const isSaid = !isQuiet && stage.kind !== "approval";
  return (
    <div className="loom-stage" data-stage={stage.kind}>
      {stage.kind === "approval" ? <Icon name="alert" /> : <Spinner />}
      <span role={isSaid ? "status" : undefined} className="loom-stage-title">
        {title}
      </span>
      {detail === "" ? null : <span className="loom-stage-detail">{detail}</span>}
      {stage.kind === "calling" && stage.progress !== undefined ? (
        <span className="loom-stage-progress">
          <ProgressBar value={stage.progress} label={words.progress} />
        </span>
      ) : null}
      <Elapsed since={turn.startedAt} />
    </div>
  );
}

type StageWords = (typeof STAGE_WORDS)["en"];

export interface StageText {
  /** Said when it changes: the same as long as the stage is the same. */
  readonly title: string;
  readonly detail: string;
}

/** Names come from the stream and may be long. */
const SHOWN_NAME = 60;
const SHOWN_MESSAGE = 120;

export function describeStage(stage: Stage, words: StageWords): StageText {
  switch (stage.kind) {
    case "thinking":
      return { title: thinkingTitle(stage.stage, words), detail: "" };
    case "approval":
    case "preparing":
    case "calling": {
      const message = stage.kind === "calling" ? (stage.message ?? "") : "";
      const others = stage.others === 0 ? "" : words.others(stage.others);
      return {
        title: words[stage.kind](cutHead(stage.tool, SHOWN_NAME)),
        detail: [others, cutHead(message, SHOWN_MESSAGE)].filter((each) => each !== "").join(" · "),
      };
    }
    case "expanding":
    case "judging":
    case "backtracking":
    case "searching":
      // Expanding and judging follow each other many times: that a tree is searched is said once.
      return {
        title: words.searching,
        detail: [
          ...(stage.kind === "searching" ? [] : [words[stage.kind]]),
          ...(stage.thoughts === 0 ? [] : [words.depth(stage.depth), words.thoughts(stage.thoughts)]),
        ].join(" · "),
      };
    case "graph": {
      const names = stage.nodes.map((name) => cutHead(name, SHOWN_NAME)).join(words.and);
      return {
        title: words.graph,
        detail: [words.done(stage.done, stage.total), names + (stage.more === 0 ? "" : words.more(stage.more))].join(
          " · ",
        ),
      };
    }
    default:
      return { title: words[stage.kind], detail: "" };
  }
}

function thinkingTitle(stage: string | undefined, words: StageWords): string {
  switch (stage) {
    case "planning":
      return words.thinkingPlanning;
    case "analyzing":
      return words.thinkingAnalyzing;
    case undefined:
    case "reasoning":
      return words.thinking;
    default:
      return words.thinkingOther(cutHead(stage, SHOWN_NAME));
  }
}

const SECOND_MS = 1000;
/** A sender whose clock is further off than this is not asked for the time. */
const PLAUSIBLE_MS = 24 * 3600 * 1000;

/** Renders alone, once a second. */
const Elapsed = memo(function Elapsed({ since }: { readonly since: number | undefined }): ReactNode {
  const tell = useSeconds();
  const now = useNow();
  const [mountedAt] = useState(now);
  const isPlausible = since !== undefined && since <= now && now - since < PLAUSIBLE_MS;
  const seconds = Math.max(0, Math.floor((now - (isPlausible ? since : mountedAt)) / SECOND_MS));
  return <span className="loom-stage-clock">{tell(seconds)}</span>;
});
