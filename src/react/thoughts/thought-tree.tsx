/**
 * The tree of thoughts of a run as it grows: scores, the chosen path, and why branches were dropped. Folded thoughts are
 * counted at their position. When the search has ended, the tree folds to one line.
 */
import {
  type KeyboardEvent,
  memo,
  type NamedExoticComponent,
  type ReactNode,
  useCallback,
  useMemo,
  useState,
} from "react";
import type { TreeView } from "../../client/index.ts";
import { Disclosure } from "../ui/disclosure.tsx";
import { Icon } from "../ui/icon.tsx";
import { useCachedState } from "../ui/ui-state-cache.tsx";
import { useWords } from "../ui/words.ts";
import { chooseSize, fitTree } from "./draw-tree.ts";
import { Drawing, useViewport } from "./drawing.tsx";
import { countNewest, explainAbandoned, summariseTree, type TreeFacts } from "./explain-thoughts.ts";
import { type FoldOverrides, MORE_SIBLINGS, NO_OVERRIDES } from "./fold-tree.ts";
import { ThoughtNode } from "./thought-node.tsx";
import { ThoughtPanel } from "./thought-panel.tsx";
import { BACKTRACK_WORDS, TREE_WORDS } from "./thoughts-words.ts";
import { indexTree } from "./tree-index.ts";
import { type DrawingState, useDrawingState } from "./use-drawing-state.ts";

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

/** Open while the search goes on; one line afterwards. */
export const ThoughtTree: NamedExoticComponent<ThoughtTreeProps> = memo(function ThoughtTree({
  tree,
  turnKey,
  isLive,
  isSearching = isLive,
  renderMore,
}: ThoughtTreeProps): ReactNode {
  const words = useWords(TREE_WORDS);
  const facts = useMemo(() => summariseTree(tree), [tree]);
  const { element, isOpen, setOpen, onFocus, ...selection } = useDrawingState(turnKey, "thought", isSearching);
  return (
    <section ref={element} className="loom-thoughts" aria-label={words.tree} onFocus={onFocus}>
      <Disclosure isOpen={isOpen} onToggle={setOpen} summary={<TreeSummary facts={facts} isSearching={isSearching} />}>
        <TreeBody tree={tree} turnKey={turnKey} isLive={isSearching} best={facts.best} {...selection} />
      </Disclosure>
      {renderMore?.(isOpen)}
    </section>
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

interface TreeBodyProps
  extends Pick<ThoughtTreeProps, "tree" | "turnKey" | "isLive">, Pick<DrawingState, "selected" | "select"> {
  readonly best: number | undefined;
}

function TreeBody({ tree, turnKey, isLive, best, selected, select }: TreeBodyProps): ReactNode {
  const words = useWords(TREE_WORDS);
  const [overrides, setOverrides] = useCachedState<FoldOverrides>(`${turnKey}/thought/folds`, NO_OVERRIDES);
  const [viewport, reportViewport] = useViewport();
  const [currentKey, setCurrentKey] = useState<string>();
  const index = useMemo(() => indexTree(tree.thoughts), [tree.thoughts]);
  const known = useWords(BACKTRACK_WORDS);
  const reasons = useMemo(() => {
    const isKnown = (code: string): code is keyof typeof known => Object.hasOwn(known, code);
    return explainAbandoned(index, tree, ({ code = "", reason }) => (isKnown(code) ? known[code] : reason));
  }, [index, tree, known]);
  const { drawn, boxes, boxWidth, lines, width, height } = useMemo(
    () => fitTree(index, tree, { ...overrides, selected: selected?.id }, viewport),
    [index, tree, overrides, selected?.id, viewport],
  );
  const onPath = useMemo(() => new Set(tree.path), [tree.path]);

  const last = tree.thoughts.length - 1;
  const chosen = tree.chosen === undefined ? undefined : index.indexById.get(tree.chosen);
  const selectedIndex = selected === undefined ? undefined : index.indexById.get(selected.id);
  const focusedIndex = selectedIndex ?? (isLive ? last : (chosen ?? last));
  const followed = useMemo(
    () => drawn.findIndex(({ thoughtIndex }) => thoughtIndex === focusedIndex),
    [drawn, focusedIndex],
  );
  const found = currentKey === undefined ? -1 : drawn.findIndex(({ key }) => key === currentKey);
  const current = found >= 0 ? found : Math.max(0, followed);
  const newest = isLive ? tree.thoughts.length - countNewest(index) : Infinity;

  const toggle = useCallback(
    (position: number) => {
      const { thoughtIndex, isOpen, parent } = drawn[position] ?? {};
      const id = thoughtIndex === undefined ? undefined : index.thoughts[thoughtIndex]?.id;
      if (id !== undefined && isOpen !== undefined)
        setOverrides({ ...overrides, toggled: new Map(overrides.toggled).set(id, !isOpen) });
      if (thoughtIndex !== undefined) return;
      const above = drawn[parent ?? -1]?.thoughtIndex;
      const name = above === undefined ? "" : (index.thoughts[above]?.id ?? "");
      const wanted = (overrides.more.get(name) ?? 0) + MORE_SIBLINGS;
      setOverrides({ ...overrides, more: new Map(overrides.more).set(name, wanted) });
    },
    [drawn, index, overrides],
  );
  const choose = useCallback(
    (position: number, byKeyboard = false) => {
      const entry = drawn[position];
      if (entry === undefined) return;
      setCurrentKey(entry.key);
      const id = entry.thoughtIndex === undefined ? undefined : index.thoughts[entry.thoughtIndex]?.id;
      if (id === undefined) toggle(position);
      else select(selected?.id === id && !byKeyboard ? undefined : { id, byKeyboard });
    },
    [drawn, index, toggle, select, selected?.id],
  );
  const handleKey = (event: KeyboardEvent, position: number): void => {
    const isOpen = drawn[position]?.isOpen;
    if (event.key === "Enter" || (event.key === " " && isOpen === undefined)) choose(position, true);
    else if (event.key === " " || (event.key === "ArrowRight" && isOpen === false)) toggle(position);
    else if (event.key === "Escape" && selected !== undefined) select(undefined);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <>
      <Drawing
        label={words.tree}
        role="tree"
        boxes={boxes}
        boxWidth={boxWidth}
        lines={lines}
        width={width}
        height={height}
        viewport={viewport}
        onViewport={reportViewport}
        onFit={overrides === NO_OVERRIDES ? undefined : () => setOverrides(NO_OVERRIDES)}
        followed={followed}
        isLive={isLive}
        current={current}
        onMove={(position) => setCurrentKey(drawn[position]?.key)}
        onFollow={() => select(undefined)}
        onKey={handleKey}
        renderBox={(position) => {
          const entry = drawn[position];
          const box = boxes[position];
          if (entry === undefined || box === undefined) return null;
          const { thoughtIndex, folded, isPruned, isOpen, column, position: sibling, count } = entry;
          const thought = thoughtIndex === undefined ? undefined : tree.thoughts[thoughtIndex];
          return (
            <ThoughtNode
              key={entry.key}
              thought={thought}
              position={position}
              x={box.x}
              y={box.y}
              size={chooseSize(thought, thought !== undefined && onPath.has(thought.id))}
              column={column}
              sibling={sibling}
              siblings={count}
              folded={folded}
              isPruned={isPruned}
              isOpen={isOpen}
              isOnPath={thought !== undefined && onPath.has(thought.id)}
              isChosen={thought !== undefined && thought.id === tree.chosen}
              isSelected={thought !== undefined && thought.id === selected?.id}
              isNew={thoughtIndex !== undefined && thoughtIndex >= newest}
              isTabStop={position === current}
              reason={thoughtIndex === undefined ? undefined : reasons.get(thoughtIndex)}
              best={best}
              onChoose={choose}
              onToggle={toggle}
            />
          );
        }}
      />
      {selected === undefined || selectedIndex === undefined ? null : (
        <ThoughtPanel
          key={selected.id}
          index={index}
          thoughtIndex={selectedIndex}
          turnKey={turnKey}
          isOnPath={onPath.has(selected.id)}
          isChosen={selected.id === tree.chosen}
          reason={reasons.get(selectedIndex)}
          takesFocus={selected.byKeyboard}
          onSelect={(id) => select({ id, byKeyboard: true })}
          onClose={() => select(undefined)}
        />
      )}
    </>
  );
}
