/**
 * The graph of thoughts of a run: steps, dependencies, results and expansions. The layout is recomputed when steps or
 * edges are added; a step that only changes its status stays in position.
 */
import {
  type KeyboardEvent,
  memo,
  type NamedExoticComponent,
  type ReactNode,
  useCallback,
  useMemo,
  useRef,
  useState,
} from "react";
import type { GraphView } from "../../client/index.ts";
import { Disclosure } from "../ui/disclosure.tsx";
import { Icon } from "../ui/icon.tsx";
import { useWords } from "../ui/words.ts";
import { drawGraph, chooseLineClass } from "./draw-graph.ts";
import { Drawing, useViewport } from "./drawing.tsx";
import { GraphNode } from "./graph-node.tsx";
import { GraphPanel } from "./graph-panel.tsx";
import { type GraphLayout, layoutGraph } from "./layout-graph.ts";
import { GRAPH_WORDS } from "./thoughts-words.ts";
import { type DrawingState, useDrawingState } from "./use-drawing-state.ts";
import { cutText } from "../../protocol/cut-text.ts";

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

/** Open while the graph is being worked on; one line afterwards. */
export const ThoughtGraph: NamedExoticComponent<ThoughtGraphProps> = memo(function ThoughtGraph({
  graph,
  turnKey,
  isLive,
  isSearching = isLive,
  renderMore,
}: ThoughtGraphProps): ReactNode {
  const words = useWords(GRAPH_WORDS);
  const { element, isOpen, setOpen, onFocus, ...selection } = useDrawingState(turnKey, "graph-node", isSearching);
  return (
    <section ref={element} className="loom-thoughts" aria-label={words.graph} onFocus={onFocus}>
      <Disclosure isOpen={isOpen} onToggle={setOpen} summary={<GraphSummary graph={graph} isSearching={isSearching} />}>
        <GraphBody graph={graph} turnKey={turnKey} isLive={isSearching} {...selection} />
      </Disclosure>
      {renderMore?.(isOpen)}
    </section>
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

const MAX_NAMED = 5;
const SHOWN_NAME = 60;

type GraphBodyProps = Pick<ThoughtGraphProps, "graph" | "turnKey" | "isLive"> &
  Pick<DrawingState, "selected" | "select">;

function GraphBody({ graph, turnKey, isLive, selected, select }: GraphBodyProps): ReactNode {
  const words = useWords(GRAPH_WORDS);
  const { nodes } = graph;
  const [moved, setMoved] = useState<number>();
  const layout = useLayout(graph);
  const [viewport, reportViewport] = useViewport();
  const drawing = useMemo(() => drawGraph(layout, viewport.width), [layout, viewport.width]);
  const { boxes, boxWidth, width, height } = drawing;
  const lines = useMemo(
    () => drawing.lines.map((line) => ({ ...line, className: chooseLineClass(nodes, line.from, line.to) })),
    [drawing, nodes],
  );
  const added = useMemo(() => {
    const lists = new Map<string, readonly string[]>();
    for (const { nodeId, nodes: ids } of graph.expansions) lists.set(nodeId, [...(lists.get(nodeId) ?? []), ...ids]);
    return lists;
  }, [graph.expansions]);

  const selectedIndex = selected === undefined ? undefined : layout.index.indexById.get(selected.id);
  const selectedNode = selectedIndex === undefined ? undefined : nodes[selectedIndex];
  // A finished graph opens at its start; one that was watched live stays at its end.
  const [grew] = useState(isLive);
  const busy = useMemo(() => (grew ? findBusy(nodes) : 0), [nodes, grew]);
  const followed = selectedIndex ?? busy;
  const current = moved !== undefined && moved < nodes.length ? moved : followed;
  const choose = (position: number, byKeyboard = false): void => {
    setMoved(position);
    const id = nodes[position]?.id;
    if (id !== undefined) select(selected?.id === id && !byKeyboard ? undefined : { id, byKeyboard });
  };
  // A stable callback, so that a changed step re-renders alone.
  const newest = useRef(choose);
  newest.current = choose;
  const chooseLatest = useCallback((position: number) => newest.current(position), []);
  const handleKey = (event: KeyboardEvent, position: number): void => {
    if (event.key === "Enter" || event.key === " ") choose(position, true);
    else if (event.key === "Escape" && selected !== undefined) select(undefined);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <>
      <Drawing
        label={words.graph}
        role="listbox"
        boxes={boxes}
        boxWidth={boxWidth}
        lines={lines}
        width={width}
        height={height}
        viewport={viewport}
        onViewport={reportViewport}
        followed={followed}
        isLive={isLive}
        current={current}
        onMove={setMoved}
        onFollow={() => select(undefined)}
        onKey={handleKey}
        renderBox={(position) => {
          const node = nodes[position];
          const box = boxes[position];
          if (node === undefined || box === undefined) return null;
          return (
            <GraphNode
              key={box.key}
              node={node}
              position={position}
              count={nodes.length}
              x={box.x}
              y={box.y}
              added={added.get(node.id)?.length ?? 0}
              needs={box.before
                .slice(0, MAX_NAMED)
                .map((nodeIndex) => cutText(nodes[nodeIndex]?.id ?? "", SHOWN_NAME))
                .join(", ")}
              isSelected={node.id === selected?.id}
              isTabStop={position === current}
              onChoose={chooseLatest}
            />
          );
        }}
      />
      {selected === undefined || selectedIndex === undefined || selectedNode === undefined ? null : (
        <GraphPanel
          key={selected.id}
          graph={graph}
          node={selectedNode}
          needs={boxes[selectedIndex]?.before ?? []}
          neededBy={boxes[selectedIndex]?.after ?? []}
          added={added.get(selected.id) ?? []}
          turnKey={turnKey}
          takesFocus={selected.byKeyboard}
          onSelect={(id) => select({ id, byKeyboard: true })}
          onClose={() => select(undefined)}
        />
      )}
    </>
  );
}

/** Derived from the previous layout, to keep the order of existing nodes. */
function useLayout(graph: GraphView): GraphLayout {
  const last = useRef<{ readonly graph: GraphView; readonly layout: GraphLayout }>(undefined);
  const before = last.current;
  const isSame =
    before !== undefined && before.graph.edges === graph.edges && before.graph.nodes.length === graph.nodes.length;
  if (isSame) return before.layout;
  const layout = layoutGraph(graph, before?.layout);
  last.current = { graph, layout };
  return layout;
}

/** Returns the last running node, else the last node that started, else the first. */
function findBusy(nodes: GraphView["nodes"]): number {
  const running = nodes.findLastIndex(({ status }) => status === "running");
  if (running >= 0) return running;
  const begun = nodes.findLastIndex(({ status }) => status !== "planned");
  return Math.max(0, begun);
}
