/**
 * The graph of thoughts of a run: steps, dependencies, results and expansions. When the work on it has ended, it folds to
 * one line and a small picture.
 */
import { lazy, memo, type NamedExoticComponent, type ReactNode, useCallback } from "react";
import type { GraphView } from "../../client/index.ts";
import { Icon } from "../ui/icon.tsx";
import { useWords } from "../ui/words.ts";
import { colorGraph, drawGraph } from "./draw-graph.ts";
import { Drawing } from "./drawing.tsx";
import { layoutGraph } from "./layout-graph.ts";
import { PICTURE, ThoughtSection } from "./thought-section.tsx";
import { GRAPH_WORDS } from "./thoughts-words.ts";
import { useDrawingState } from "./use-drawing-state.ts";
import { type GraphContentOptions, useGraphContent } from "./use-graph-content.tsx";

const loadCanvas = () => import("./thought-canvas.tsx");
const GraphCanvas = lazy(async () => ({ default: (await loadCanvas()).GraphCanvas }));

export interface ThoughtGraphProps {
  readonly graph: GraphView;
  /** Key of the run, as in `TurnView.key`. */
  readonly turnKey: string;
  /** The run is live. */
  readonly isLive: boolean;
  /** The graph is being worked on. Default: while the run is live. */
  readonly isSearching?: boolean | undefined;
  /** Renders more below the drawing. */
  readonly renderMore?: ((isOpen: boolean) => ReactNode) | undefined;
}

/** Open while the graph is being worked on; one line and a picture that opens the canvas afterwards. */
export const ThoughtGraph: NamedExoticComponent<ThoughtGraphProps> = memo(function ThoughtGraph({
  graph,
  turnKey,
  isLive,
  isSearching = isLive,
  renderMore,
}: ThoughtGraphProps): ReactNode {
  const words = useWords(GRAPH_WORDS);
  const state = useDrawingState(turnKey, "graph-node", isSearching);
  const { selected, select, onInspect } = state;
  const shared = { graph, isLive: isSearching, onInspect };
  const drawPicture = useCallback(
    () =>
      graph.nodes.length === 0 ? undefined : colorGraph(drawGraph(layoutGraph(graph), PICTURE.width), graph.nodes),
    [graph],
  );
  return (
    <ThoughtSection
      label={words.graph}
      summary={<GraphSummary graph={graph} isSearching={isSearching} />}
      state={state}
      drawPicture={drawPicture}
      renderMore={renderMore}
      renderBox={(onOpen) => <GraphBox {...shared} selected={selected} select={select} onOpen={onOpen} />}
      loadCanvas={loadCanvas}
      renderCanvas={(onClose) => <GraphCanvas {...shared} turnKey={turnKey} initial={selected} onClose={onClose} />}
    />
  );
});

interface GraphSummaryProps {
  readonly graph: GraphView;
  readonly isSearching: boolean;
}

function GraphSummary({ graph: { nodes, expansions }, isSearching }: GraphSummaryProps): ReactNode {
  const words = useWords(GRAPH_WORDS);
  const counts = { planned: 0, running: 0, complete: 0, failed: 0, skipped: 0, interrupted: 0 };
  for (const { status } of nodes) counts[status]++;
  const { complete } = counts;
  const title = isSearching
    ? words.graph
    : complete === nodes.length
      ? words.ran(complete)
      : words.ranSome(complete, nodes.length);
  const facts = [
    ...(isSearching ? [words.done(complete, nodes.length)] : []),
    ...(counts.running === 0 ? [] : [words.runningNow(counts.running)]),
    ...(counts.failed === 0 ? [] : [words.failedCount(counts.failed)]),
    ...(counts.skipped === 0 ? [] : [words.skippedCount(counts.skipped)]),
    ...(expansions.length === 0 ? [] : [words.expansions(expansions.length)]),
  ];
  return (
    <>
      <Icon name="graph" />
      <span className="loom-thoughts-title">{title}</span>
      <span className="loom-thoughts-facts">{facts.map((fact) => ` · ${fact}`).join("")}</span>
    </>
  );
}

type GraphBoxProps = GraphContentOptions & { readonly onOpen: () => void };

function GraphBox({ onOpen, ...options }: GraphBoxProps): ReactNode {
  const { content, panel } = useGraphContent(options);
  return (
    <>
      <Drawing content={content} onOpen={onOpen} />
      {panel}
    </>
  );
}
