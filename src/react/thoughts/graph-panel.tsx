/** Details of one step of a graph: result, dependencies and expansion. */
import { type ReactNode, useMemo } from "react";
import type { GraphView } from "../../client/index.ts";
import type { GraphNodeView } from "../../client/view.ts";
import { formatDuration } from "../ui/format.ts";
import { Badge, type BadgeTone } from "../ui/indicators.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { useWords } from "../ui/words.ts";
import { DetailPanel, DetailText, Fact } from "./detail-panel.tsx";
import { Score } from "./score.tsx";
import { GRAPH_WORDS, nameOperation } from "./thoughts-words.ts";
import { cutText } from "../../protocol/cut-text.ts";

export interface GraphPanelProps {
  readonly graph: GraphView;
  readonly node: GraphNodeView;
  /** Ids of its dependencies and of its dependents. */
  readonly needs: readonly string[];
  readonly neededBy: readonly string[];
  /** Ids of the steps it was expanded into. */
  readonly added: readonly string[];
  readonly takesFocus: boolean;
  readonly onSelect: (id: string) => void;
  readonly onInspect: (() => void) | undefined;
  readonly onClose: () => void;
}

const STEP_TONES: { readonly [S in GraphNodeView["status"]]: BadgeTone } = {
  planned: "plain",
  running: "busy",
  complete: "good",
  failed: "bad",
  skipped: "plain",
  interrupted: "warn",
};

/** Maximum names and scores in a list. */
const MAX_LISTED = 12;
const SHOWN_NAME = 60;
const SHOWN_LABEL = 300;

export function GraphPanel(props: GraphPanelProps): ReactNode {
  const { graph, node, onSelect } = props;
  const words = useWords(GRAPH_WORDS);
  const { language } = useUi();
  const labels = useMemo(() => new Map(graph.nodes.map(({ id, label }) => [id, label])), [graph.nodes]);
  const lists = [
    [words.needs, props.needs],
    [words.neededBy, props.neededBy],
    [words.expandedFrom, node.expandedFrom === undefined ? [] : [node.expandedFrom]],
    [words.expandedInto, props.added],
  ] as const;
  const duration =
    node.startedAt === undefined || node.endedAt === undefined ? undefined : node.endedAt - node.startedAt;
  return (
    <DetailPanel
      label={words.detail}
      takesFocus={props.takesFocus}
      onClose={props.onClose}
      onInspect={props.onInspect}
      head={
        <>
          <Badge tone={STEP_TONES[node.status]}>{words[node.status]}</Badge>
          <strong>{cutText(node.label ?? node.id, SHOWN_LABEL)}</strong>
        </>
      }
    >
      {node.summary === undefined ? null : <DetailText text={node.summary} />}
      {node.error === undefined ? null : <DetailText text={node.error} variant="bad" />}
      {node.summary === undefined && node.error === undefined ? (
        <p className="loom-detail-note">{words.noResult}</p>
      ) : null}
      <dl className="loom-facts">
        {node.operation === undefined ? null : (
          <Fact name={words.operation}>{nameOperation(node.operation, words)}</Fact>
        )}
        {duration === undefined ? null : <Fact name={words.duration}>{formatDuration(duration, language)}</Fact>}
        {lists.map(([name, ids]) =>
          ids.length === 0 ? null : (
            <Fact key={name} name={name}>
              {ids.slice(0, MAX_LISTED).map((id) => (
                <button key={id} type="button" className="loom-thoughts-link" onClick={() => onSelect(id)}>
                  {cutText(labels.get(id) ?? id, SHOWN_NAME)}
                </button>
              ))}
              {ids.length > MAX_LISTED ? words.more(ids.length - MAX_LISTED) : null}
            </Fact>
          ),
        )}
      </dl>
      {node.scores === undefined || node.scores.length === 0 ? null : (
        <Scores scores={node.scores} onSelect={onSelect} />
      )}
    </DetailPanel>
  );
}

function Scores({
  scores,
  onSelect,
}: {
  readonly scores: NonNullable<GraphNodeView["scores"]>;
  readonly onSelect: (id: string) => void;
}): ReactNode {
  const words = useWords(GRAPH_WORDS);
  const ranked = scores.toSorted((a, b) => b.score - a.score);
  return (
    <dl className="loom-facts loom-facts-scores" aria-label={words.scores}>
      {ranked.slice(0, MAX_LISTED).map(({ id, score }, at) => (
        <div key={`${at} ${id}`} className="loom-fact">
          <dt>
            <button type="button" className="loom-thoughts-link" onClick={() => onSelect(id)}>
              {cutText(id, SHOWN_NAME)}
            </button>
          </dt>
          <dd>
            <Score score={score} best={ranked[0]?.score} />
          </dd>
        </div>
      ))}
      {ranked.length > MAX_LISTED ? (
        <div className="loom-fact">
          <dt>{words.more(ranked.length - MAX_LISTED)}</dt>
        </div>
      ) : null}
    </dl>
  );
}
