/** One step in the drawing of a graph. */
import { memo, type ReactNode } from "react";
import type { GraphNodeView } from "../../client/view.ts";
import { Icon, type IconName } from "../ui/icon.tsx";
import { useWords } from "../ui/words.ts";
import { GRAPH_WORDS, nameOperation } from "./thoughts-words.ts";
import { cutText } from "../../protocol/cut-text.ts";

export interface GraphNodeProps {
  readonly node: GraphNodeView;
  readonly position: number;
  readonly count: number;
  readonly x: number;
  readonly y: number;
  /** Number of steps added by its expansion. */
  readonly added: number;
  /** Names of its dependencies, truncated. */
  readonly needs: string;
  /** A row that shows its dependencies. */
  readonly isOutline: boolean;
  readonly isSelected: boolean;
  readonly isTabStop: boolean;
  readonly onChoose: (position: number) => void;
}

const SHOWN_TEXT = 120;

const ICONS: { readonly [S in GraphNodeView["status"]]: IconName } = {
  planned: "clock",
  running: "play",
  complete: "check",
  failed: "alert",
  skipped: "skip",
  interrupted: "stop",
};

export const GraphNode = memo(function GraphNode(props: GraphNodeProps): ReactNode {
  const { node, position, x, y, added, needs, isOutline } = props;
  const { id, label, status, operation, expandedFrom, error } = node;
  const words = useWords(GRAPH_WORDS);
  const name = cutText(label ?? id, SHOWN_TEXT);
  const spoken = [
    ...(added === 0 ? [] : [words.expandedText(added)]),
    ...(error === undefined ? [] : [cutText(error, SHOWN_TEXT)]),
    ...(needs === "" || isOutline ? [] : [words.needsText(needs)]),
    ...(expandedFrom === undefined ? [] : [words.addedBy(cutText(expandedFrom, SHOWN_TEXT))]),
  ].map((each) => words.pause + each);
  return (
    <div
      role="option"
      className="loom-step"
      data-box={position}
      data-graph-node={id}
      data-status={status}
      data-added={expandedFrom !== undefined}
      data-outline={isOutline}
      tabIndex={props.isTabStop ? 0 : -1}
      aria-selected={props.isSelected}
      aria-posinset={position + 1}
      aria-setsize={props.count}
      style={{ transform: `translate(${x}px, ${y}px)` }}
      title={expandedFrom === undefined ? undefined : words.addedBy(cutText(expandedFrom, SHOWN_TEXT))}
      onClick={() => props.onChoose(position)}
    >
      <span className="loom-step-name" dir="auto">
        {name}
      </span>
      <span className="loom-step-foot">
        <Icon name={ICONS[status]} />
        <span className="loom-said">{words.pause}</span>
        <span className="loom-step-status">{words[status]}</span>
        {operation === undefined ? null : (
          <span className="loom-step-operation">{nameOperation(operation, words)}</span>
        )}
        {added === 0 ? null : (
          <span className="loom-step-added" aria-hidden="true">
            <Icon name="fork" />
            {added}
          </span>
        )}
        <span className="loom-said">{spoken.join("")}</span>
      </span>
      {isOutline && needs !== "" ? (
        <span className="loom-step-needs">
          <span className="loom-said">{words.pause}</span>
          {words.needsLine(needs)}
        </span>
      ) : null}
    </div>
  );
});
