/** One thought in the drawing of a tree, or the placeholder of folded siblings. */
import { memo, type ReactNode } from "react";
import type { ThoughtView } from "../../client/view.ts";
import { Icon, type IconName } from "../ui/icon.tsx";
import { useWords } from "../ui/words.ts";
import type { ThoughtSize } from "./draw-tree.ts";
import { Score } from "./score.tsx";
import { TREE_WORDS } from "./thoughts-words.ts";
import { cutText } from "../../protocol/cut-text.ts";

export interface ThoughtNodeProps {
  readonly thought: ThoughtView | undefined;
  /** Position in the list of drawn thoughts. */
  readonly position: number;
  readonly x: number;
  readonly y: number;
  readonly size: ThoughtSize;
  readonly column: number;
  readonly sibling: number;
  readonly siblings: number;
  readonly folded: number;
  /** All thoughts folded here were pruned. */
  readonly isPruned: boolean;
  readonly isOpen: boolean | undefined;
  readonly isOnPath: boolean;
  readonly isChosen: boolean;
  readonly isSelected: boolean;
  readonly isNew: boolean;
  readonly isTabStop: boolean;
  /** Why it was abandoned. */
  readonly reason: string | undefined;
  readonly best: number | undefined;
  readonly onChoose: (position: number) => void;
  readonly onToggle: (position: number) => void;
}

/** About two lines; the details show the full text. */
const SHOWN_TEXT = 120;

const ICONS: { readonly [S in ThoughtView["status"]]: IconName | undefined } = {
  open: undefined,
  kept: "check",
  pruned: "close",
  abandoned: "return",
};

export const ThoughtNode = memo(function ThoughtNode(props: ThoughtNodeProps): ReactNode {
  const { thought, position, x, y, folded, isOpen, isChosen, isOnPath, reason, best } = props;
  const words = useWords(TREE_WORDS);
  const shared = {
    role: "treeitem",
    "data-box": position,
    tabIndex: props.isTabStop ? 0 : -1,
    "aria-level": props.column + 1,
    "aria-posinset": props.sibling,
    "aria-setsize": props.siblings,
    style: { transform: `translate(${x}px, ${y}px)` },
    onClick: () => props.onChoose(position),
  } as const;
  if (thought === undefined)
    return (
      <div {...shared} className="loom-thought loom-thought-rest" aria-selected={false}>
        {props.isPruned ? <Icon name="close" /> : <Icon name="more" />}
        {props.isPruned ? words.prunedCount(folded) : words.folded(folded)}
      </div>
    );
  const { status, score, text } = thought;
  const icon = isChosen ? "star" : ICONS[status];
  const state = isChosen ? words.chosen : isOnPath ? words.onPath : words[status];
  return (
    <div
      {...shared}
      className="loom-thought"
      data-thought={thought.id}
      data-status={status}
      data-new={props.isNew}
      data-size={props.size}
      aria-selected={props.isSelected}
      aria-expanded={isOpen}
      title={reason === undefined ? undefined : cutText(reason, SHOWN_TEXT)}
    >
      <span className="loom-thought-text" dir="auto">
        {text.trim() === "" ? words.unnamed : cutText(text, SHOWN_TEXT)}
      </span>
      <span className="loom-thought-foot">
        {icon === undefined ? null : <Icon name={icon} />}
        <span className="loom-said">
          {words.pause + state + (score === undefined ? "" : `${words.pause}${words.score} `)}
        </span>
        {score === undefined ? null : <Score score={score} best={best} />}
      </span>
      {reason === undefined ? null : (
        <span className="loom-thought-reason">
          <span className="loom-said">{words.pause}</span>
          {cutText(reason, SHOWN_TEXT)}
        </span>
      )}
      {folded === 0 ? null : <span className="loom-said">{`${words.pause}${words.foldedBelow(folded)}`}</span>}
      {folded === 0 ? null : (
        // For pointers only; with the keyboard, Space toggles the branch.
        <span
          className="loom-thought-fold"
          aria-hidden="true"
          onClick={(event) => {
            event.stopPropagation();
            props.onToggle(position);
          }}
        >
          +{folded}
        </span>
      )}
    </div>
  );
});
