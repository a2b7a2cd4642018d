/**
 * The tree of thoughts of a run as it grows: scores, the chosen path, and why branches were dropped. Folded thoughts are
 * counted at their position. When the search has ended, the tree folds to one line and a small picture.
 */
import { lazy, memo, type NamedExoticComponent, type ReactNode, useCallback, useMemo } from "react";
import type { TreeView } from "../../client/index.ts";
import { Icon } from "../ui/icon.tsx";
import { useWords } from "../ui/words.ts";
import { fitTree } from "./draw-tree.ts";
import { Drawing } from "./drawing.tsx";
import { summariseTree, type TreeFacts } from "./explain-thoughts.ts";
import { NO_OVERRIDES } from "./fold-tree.ts";
import { PICTURE, ThoughtSection } from "./thought-section.tsx";
import { TREE_WORDS } from "./thoughts-words.ts";
import { indexTree } from "./tree-index.ts";
import { useDrawingState } from "./use-drawing-state.ts";
import { type TreeContentOptions, useTreeContent } from "./use-tree-content.tsx";

const loadCanvas = () => import("./thought-canvas.tsx");
const TreeCanvas = lazy(async () => ({ default: (await loadCanvas()).TreeCanvas }));

export interface ThoughtTreeProps {
  readonly tree: TreeView;
  /** Key of the run, as in `TurnView.key`. */
  readonly turnKey: string;
  /** The run is live. */
  readonly isLive: boolean;
  /** The search goes on. Default: while the run is live. */
  readonly isSearching?: boolean | undefined;
  /** Renders more below the drawing. */
  readonly renderMore?: ((isOpen: boolean) => ReactNode) | undefined;
}

/** Open while the search goes on; one line and a picture that opens the canvas afterwards. */
export const ThoughtTree: NamedExoticComponent<ThoughtTreeProps> = memo(function ThoughtTree({
  tree,
  turnKey,
  isLive,
  isSearching = isLive,
  renderMore,
}: ThoughtTreeProps): ReactNode {
  const words = useWords(TREE_WORDS);
  const facts = useMemo(() => summariseTree(tree), [tree]);
  const state = useDrawingState(turnKey, "thought", isSearching);
  const { selected, select, onInspect } = state;
  const shared = { tree, turnKey, isLive: isSearching, onInspect };
  const drawPicture = useCallback(
    () => (tree.thoughts.length === 0 ? undefined : fitTree(indexTree(tree.thoughts), tree, NO_OVERRIDES, PICTURE)),
    [tree],
  );
  return (
    <ThoughtSection
      label={words.tree}
      summary={<TreeSummary facts={facts} isSearching={isSearching} />}
      state={state}
      drawPicture={drawPicture}
      renderMore={renderMore}
      renderBox={(onOpen) => <TreeBox {...shared} selected={selected} select={select} onOpen={onOpen} />}
      loadCanvas={loadCanvas}
      renderCanvas={(onClose) => <TreeCanvas {...shared} facts={facts} initial={selected} onClose={onClose} />}
    />
  );
});

interface TreeSummaryProps {
  readonly facts: TreeFacts;
  readonly isSearching: boolean;
}

function TreeSummary({ facts: { count, depth, backtracks }, isSearching }: TreeSummaryProps): ReactNode {
  const words = useWords(TREE_WORDS);
  const facts = [
    ...(isSearching ? [words.thoughts(count)] : []),
    words.depth(depth),
    ...(backtracks === 0 ? [] : [words.backtracks(backtracks)]),
  ];
  return (
    <>
      <Icon name="tree" />
      <span className="loom-thoughts-title">{isSearching ? words.tree : words.explored(count)}</span>
      <span className="loom-thoughts-facts">{` · ${facts.join(" · ")}`}</span>
    </>
  );
}

type TreeBoxProps = Omit<TreeContentOptions, "draw" | "place"> & { readonly onOpen: () => void };

function TreeBox({ onOpen, ...options }: TreeBoxProps): ReactNode {
  const { content, panel } = useTreeContent({ ...options, draw: fitTree, place: "folds" });
  return (
    <>
      <Drawing content={content} onOpen={onOpen} />
      {panel}
    </>
  );
}
