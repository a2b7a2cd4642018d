/**
 * The content of a drawing of a graph, and the details of the selected step. The layout is recomputed when steps or edges
 * are added; a step that only changes its status stays in position.
 */
import { type KeyboardEvent, type ReactNode, useCallback, useLayoutEffect, useMemo, useRef, useState } from "react";
import { cutText } from "../../protocol/cut-text.ts";
import type { GraphView } from "../../client/index.ts";
import { useWords } from "../ui/words.ts";
import { colorGraph, drawGraph, drawGraphOutline, orderSteps } from "./draw-graph.ts";
import { type DrawingContent, useViewport } from "./drawing-content.ts";
import { GraphNode } from "./graph-node.tsx";
import { GraphPanel } from "./graph-panel.tsx";
import { type GraphLayout, layoutGraph } from "./layout-graph.ts";
import { GRAPH_WORDS } from "./thoughts-words.ts";
import type { DrawingSelection } from "./use-drawing-state.ts";

export interface GraphContentOptions extends DrawingSelection {
  readonly graph: GraphView;
  readonly isLive: boolean;
  /** Steps are rows in the order of their dependencies. Default: false. */
  readonly isOutline?: boolean | undefined;
  readonly onInspect?: ((id: string) => void) | undefined;
}

export interface GraphContent {
  readonly content: DrawingContent;
  /** Details of the selected step; null if none is selected. */
  readonly panel: ReactNode;
  /** Selects a step. */
  readonly find: (id: string) => void;
}

const MAX_NAMED = 5;
const SHOWN_NAME = 60;

export function useGraphContent(options: GraphContentOptions): GraphContent {
  const { graph, isLive, isOutline = false, selected, select, onInspect } = options;
  const words = useWords(GRAPH_WORDS);
  const [movedKey, setMovedKey] = useState<string>();
  const layout = useLayout(graph);
  const [viewport, onViewport] = useViewport();
  const order = useMemo(() => (isOutline ? orderSteps(layout) : undefined), [isOutline, layout]);
  const nodes = useMemo(() => order?.flatMap((at) => graph.nodes[at] ?? []) ?? graph.nodes, [order, graph.nodes]);
  const drawing = useMemo(
    () => (order === undefined ? drawGraph(layout, viewport.width) : drawGraphOutline(layout, order, viewport.width)),
    [layout, order, viewport.width],
  );
  const shape = useMemo(() => colorGraph(drawing, nodes), [drawing, nodes]);
  const { boxes } = shape;
  const added = useMemo(() => {
    const lists = new Map<string, readonly string[]>();
    for (const { nodeId, nodes: ids } of graph.expansions) lists.set(nodeId, [...(lists.get(nodeId) ?? []), ...ids]);
    return lists;
  }, [graph.expansions]);

  const findPosition = (id: string): number | undefined => {
    const at = layout.index.indexById.get(id);
    return at === undefined ? undefined : (order?.indexOf(at) ?? at);
  };
  const selectedIndex = selected === undefined ? undefined : findPosition(selected.id);
  const selectedNode = selectedIndex === undefined ? undefined : nodes[selectedIndex];
  // A finished graph opens at its start; one that was watched live stays at its end.
  const [grew] = useState(isLive);
  const busy = useMemo(() => (grew ? findBusy(nodes) : 0), [nodes, grew]);
  const followed = selectedIndex ?? busy;
  const moved = movedKey === undefined ? -1 : boxes.findIndex(({ key }) => key === movedKey);
  const current = moved >= 0 ? moved : followed;
  const setMoved = (position: number): void => setMovedKey(boxes[position]?.key);
  const choose = (position: number, byKeyboard = false): void => {
    setMoved(position);
    const id = nodes[position]?.id;
    if (id !== undefined) select(selected?.id === id && !byKeyboard ? undefined : { id, byKeyboard });
  };
  // A stable callback, so that a changed step re-renders alone.
  const newest = useRef(choose);
  useLayoutEffect(() => {
    newest.current = choose;
  });
  const chooseLatest = useCallback((position: number) => newest.current(position), []);
  const onKey = (event: KeyboardEvent, position: number): void => {
    if (event.key === "Enter" || event.key === " ") choose(position, true);
    else if (event.key === "Escape" && selected !== undefined) select(undefined);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const content: DrawingContent = {
    ...shape,
    label: words.graph,
    role: "listbox",
    viewport,
    onViewport,
    followed,
    isLive,
    current,
    onMove: setMoved,
    onDeselect: () => select(undefined),
    onKey,
    renderBox: (position) => {
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
            .map((at) => nameStep(nodes[at]))
            .join(words.pause)}
          isOutline={isOutline}
          isSelected={node.id === selected?.id}
          isTabStop={position === current}
          onChoose={chooseLatest}
        />
      );
    },
  };
  const panel =
    selected === undefined || selectedIndex === undefined || selectedNode === undefined ? null : (
      <GraphPanel
        key={selected.id}
        graph={graph}
        node={selectedNode}
        needs={listIds(nodes, boxes[selectedIndex]?.before)}
        neededBy={listIds(nodes, boxes[selectedIndex]?.after)}
        added={added.get(selected.id) ?? []}
        takesFocus={selected.byKeyboard}
        onSelect={(id) => select({ id, byKeyboard: true })}
        onInspect={onInspect && (() => onInspect(selected.id))}
        onClose={() => select(undefined)}
      />
    );
  const find = (id: string): void => {
    setMovedKey(boxes[findPosition(id) ?? -1]?.key);
    select({ id, byKeyboard: false });
  };
  return { content, panel, find };
}

function listIds(nodes: GraphView["nodes"], positions: readonly number[] = []): readonly string[] {
  return positions.flatMap((at) => nodes[at]?.id ?? []);
}

function nameStep(node: GraphView["nodes"][number] | undefined): string {
  return cutText(node?.label ?? node?.id ?? "", SHOWN_NAME);
}

/** Derived from the previous layout, to keep the order of existing nodes. */
function useLayout(graph: GraphView): GraphLayout {
  const [before, setLast] = useState<{ readonly graph: GraphView; readonly layout: GraphLayout }>();
  const isSame =
    before !== undefined && before.graph.edges === graph.edges && before.graph.nodes.length === graph.nodes.length;
  if (isSame) return before.layout;
  const layout = layoutGraph(graph, before?.layout);
  setLast({ graph, layout });
  return layout;
}

/** Returns the last running node, else the last node that started, else the first. */
function findBusy(nodes: GraphView["nodes"]): number {
  const running = nodes.findLastIndex(({ status }) => status === "running");
  if (running >= 0) return running;
  const begun = nodes.findLastIndex(({ status }) => status !== "planned");
  return Math.max(0, begun);
}
