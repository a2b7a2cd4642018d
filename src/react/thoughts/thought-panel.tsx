/** Details of one thought: text, status, score and path. */
import type { ReactNode } from "react";
import { formatNumber } from "../ui/format.ts";
import { Badge, type BadgeTone } from "../ui/indicators.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { useWords } from "../ui/words.ts";
import type { ThoughtView } from "../../client/view.ts";
import { DetailPanel, DetailText, Fact } from "./detail-panel.tsx";
import { findBestScore, listChain } from "./explain-thoughts.ts";
import { formatScore } from "./score.tsx";
import { TREE_WORDS } from "./thoughts-words.ts";
import type { TreeIndex } from "./tree-index.ts";
import { cutText } from "../../protocol/cut-text.ts";

export interface ThoughtPanelProps {
  readonly index: TreeIndex;
  readonly thoughtIndex: number;
  readonly isOnPath: boolean;
  readonly isChosen: boolean;
  readonly reason: string | undefined;
  readonly takesFocus: boolean;
  readonly onSelect: (id: string) => void;
  readonly onInspect: (() => void) | undefined;
  readonly onClose: () => void;
}

const TONES: { readonly [S in ThoughtView["status"]]: BadgeTone } = {
  open: "plain",
  kept: "good",
  pruned: "plain",
  abandoned: "warn",
};

const SHOWN_NAME = 60;
const SHOWN_REASON = 2000;

export function ThoughtPanel(props: ThoughtPanelProps): ReactNode {
  const { index, thoughtIndex, isOnPath, isChosen, onSelect } = props;
  const words = useWords(TREE_WORDS);
  const { language } = useUi();
  const thought = index.thoughts[thoughtIndex];
  if (thought === undefined) return null;
  const chain = listChain(index, thoughtIndex);
  const below = (index.sizes[thoughtIndex] ?? 1) - 1;
  const nameOf = (above: number): string => {
    const text = index.thoughts[above]?.text.trim() ?? "";
    return text === "" ? words.unnamed : cutText(text, SHOWN_NAME);
  };
  return (
    <DetailPanel
      label={words.detail}
      takesFocus={props.takesFocus}
      onClose={props.onClose}
      onInspect={props.onInspect}
      head={
        <>
          <Badge tone={TONES[thought.status]}>{words[thought.status]}</Badge>
          {isChosen ? (
            <Badge tone="busy">{words.chosen}</Badge>
          ) : isOnPath ? (
            <Badge tone="busy">{words.onPath}</Badge>
          ) : null}
        </>
      }
    >
      <DetailText text={thought.text} />
      <StatusReason {...props} thought={thought} />
      <dl className="loom-facts">
        {thought.score === undefined ? null : <Fact name={words.score}>{formatScore(thought.score, language)}</Fact>}
        <Fact name={words.atDepth}>{formatNumber(thought.depth, language)}</Fact>
        {below === 0 ? null : <Fact name={words.below}>{formatNumber(below, language)}</Fact>}
      </dl>
      {chain.places.length === 0 ? null : (
        <nav className="loom-detail-way" aria-label={words.way}>
          <span className="loom-detail-name">{words.way}</span>
          <ol>
            {chain.isCut ? <li aria-hidden="true">…</li> : null}
            {chain.places.map((above) => (
              <li key={above}>
                <button
                  type="button"
                  className="loom-thoughts-link"
                  onClick={() => onSelect(index.thoughts[above]?.id ?? "")}
                >
                  {nameOf(above)}
                </button>
              </li>
            ))}
          </ol>
        </nav>
      )}
    </DetailPanel>
  );
}

function StatusReason({
  thought,
  index,
  thoughtIndex,
  reason,
}: ThoughtPanelProps & { readonly thought: ThoughtView }): ReactNode {
  const words = useWords(TREE_WORDS);
  const { language } = useUi();
  if (thought.status === "abandoned")
    return (
      <p className="loom-detail-why">
        {reason === undefined ? words.whyAbandonedUnknown : words.whyAbandoned(cutText(reason, SHOWN_REASON))}
      </p>
    );
  if (thought.status !== "pruned") return null;
  return <p className="loom-detail-why">{explain()}</p>;

  function explain(): string {
    if (thought.score === undefined) return words.whyPruned;
    const best = findBestScore(index, thoughtIndex) ?? thought.score;
    const score = formatScore(thought.score, language);
    return best > thought.score ? words.whyPrunedBest(score, formatScore(best, language)) : words.whyPrunedScore(score);
  }
}
