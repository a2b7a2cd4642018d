/** Trees and graphs of thoughts on a canvas. Loaded when the first one opens. */
import { type ReactNode, useMemo, useState } from "react";
import { useCachedState } from "../ui/ui-state-cache.tsx";
import { useWords } from "../ui/words.ts";
import { Canvas } from "./canvas.tsx";
import { drawOutline, drawWholeTree } from "./draw-tree.ts";
import type { TreeFacts } from "./explain-thoughts.ts";
import { isPhone } from "./grid.ts";
import { GRAPH_WORDS, TREE_WORDS } from "./thoughts-words.ts";
import { listDepthFirst } from "./tree-index.ts";
import type { SelectedItem } from "./use-drawing-state.ts";
import { type GraphContentOptions, useGraphContent } from "./use-graph-content.tsx";
import { type TreeContentOptions, useTreeContent } from "./use-tree-content.tsx";

interface ThoughtCanvasProps {
  /** Selected when the canvas opens. */
  readonly initial: SelectedItem | undefined;
  readonly onInspect: ((id: string) => void) | undefined;
  readonly onClose: () => void;
}

type TreeCanvasProps = ThoughtCanvasProps &
  Pick<TreeContentOptions, "tree" | "turnKey" | "isLive"> & { readonly facts: TreeFacts };

export function TreeCanvas({ facts, initial, onInspect, onClose, ...options }: TreeCanvasProps): ReactNode {
  const words = useWords(TREE_WORDS);
  const [selected, select] = useState(initial);
  const [isOutline, setOutline] = useCachedState(`${options.turnKey}/thought/outline`, isPhone(innerWidth));
  const { content, panel, index, find } = useTreeContent({
    ...options,
    selected,
    select,
    draw: isOutline ? drawOutline : drawWholeTree,
    place: "canvas-folds",
    onInspect: leaveFirst(onInspect, onClose),
  });
  const texts = useMemo(
    () =>
      listDepthFirst(index).map((thoughtIndex) => {
        const { id = "", text = "" } = index.thoughts[thoughtIndex] ?? {};
        return { id, text };
      }),
    [index],
  );
  return (
    <Canvas
      title={words.tree}
      facts={[words.thoughts(facts.count), words.depth(facts.depth)]}
      content={content}
      panel={panel}
      search={{ label: words.search, texts, onFind: find }}
      view="tree"
      isOutline={isOutline}
      onOutline={setOutline}
      onClose={onClose}
    />
  );
}

type GraphCanvasProps = ThoughtCanvasProps &
  Pick<GraphContentOptions, "graph" | "isLive"> & { readonly turnKey: string };

export function GraphCanvas({ graph, turnKey, isLive, initial, onInspect, onClose }: GraphCanvasProps): ReactNode {
  const words = useWords(GRAPH_WORDS);
  const [selected, select] = useState(initial);
  const [isOutline, setOutline] = useCachedState(`${turnKey}/graph-node/outline`, isPhone(innerWidth));
  const { content, panel, find } = useGraphContent({
    graph,
    isLive,
    isOutline,
    selected,
    select,
    onInspect: leaveFirst(onInspect, onClose),
  });
  const texts = useMemo(
    () => graph.nodes.map(({ id, label, summary = "" }) => ({ id, text: `${label ?? id} ${summary}` })),
    [graph.nodes],
  );
  const complete = graph.nodes.filter(({ status }) => status === "complete").length;
  return (
    <Canvas
      title={words.graph}
      facts={[words.done(complete, graph.nodes.length)]}
      content={content}
      panel={panel}
      search={{ label: words.search, texts, onFind: find }}
      view="graph"
      isOutline={isOutline}
      onOutline={setOutline}
      onClose={onClose}
    />
  );
}

/** The frames are shown beside the conversation, so the canvas closes. */
function leaveFirst(
  onInspect: ((id: string) => void) | undefined,
  onClose: () => void,
): ((id: string) => void) | undefined {
  return (
    onInspect &&
    ((id) => {
      onClose();
      onInspect(id);
    })
  );
}
