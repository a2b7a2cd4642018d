/** The content of a drawing of a tree, folded and selected as the user wants, and the details of the selected thought. */
import { type KeyboardEvent, type ReactNode, useCallback, useMemo, useState } from "react";
import type { TreeView } from "../../client/index.ts";
import { useCachedState } from "../ui/ui-state-cache.tsx";
import { useWords } from "../ui/words.ts";
import { chooseSize, type DrawTree } from "./draw-tree.ts";
import { type DrawingContent, useViewport } from "./drawing-content.ts";
import { countNewest, explainAbandoned, summariseTree } from "./explain-thoughts.ts";
import { type FoldOverrides, MORE_SIBLINGS, NO_OVERRIDES } from "./fold-tree.ts";
import { ThoughtNode } from "./thought-node.tsx";
import { ThoughtPanel } from "./thought-panel.tsx";
import { BACKTRACK_WORDS, TREE_WORDS } from "./thoughts-words.ts";
import { indexTree, listAncestors, type TreeIndex } from "./tree-index.ts";
import type { DrawingSelection } from "./use-drawing-state.ts";

export interface TreeContentOptions extends DrawingSelection {
  readonly tree: TreeView;
  readonly turnKey: string;
  readonly isLive: boolean;
  readonly draw: DrawTree;
  /** Where the tree is drawn: what is folded is kept for each place. */
  readonly place: "folds" | "canvas-folds";
  readonly onInspect?: ((id: string) => void) | undefined;
}

export interface TreeContent {
  readonly content: DrawingContent;
  /** Details of the selected thought; null if none is selected. */
  readonly panel: ReactNode;
  readonly index: TreeIndex;
  /** Selects a thought and opens the branches above it. */
  readonly find: (id: string) => void;
}

export function useTreeContent(options: TreeContentOptions): TreeContent {
  const { tree, turnKey, isLive, draw, place, selected, select, onInspect } = options;
  const words = useWords(TREE_WORDS);
  const [overrides, setOverrides] = useCachedState<FoldOverrides>(`${turnKey}/thought/${place}`, NO_OVERRIDES);
  const [viewport, onViewport] = useViewport();
  const [currentKey, setCurrentKey] = useState<string>();
  const { best } = useMemo(() => summariseTree(tree), [tree]);
  const index = useMemo(() => indexTree(tree.thoughts), [tree.thoughts]);
  const known = useWords(BACKTRACK_WORDS);
  const reasons = useMemo(() => {
    const isKnown = (code: string): code is keyof typeof known => Object.hasOwn(known, code);
    return explainAbandoned(index, tree, ({ code = "", reason }) => (isKnown(code) ? known[code] : reason));
  }, [index, tree, known]);
  const { drawn, ...shape } = useMemo(
    () => draw(index, tree, { ...overrides, selected: selected?.id }, viewport),
    [draw, index, tree, overrides, selected?.id, viewport],
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
  const find = (id: string): void => {
    const thoughtIndex = index.indexById.get(id);
    if (thoughtIndex === undefined) return;
    const toggled = new Map(overrides.toggled);
    for (const above of listAncestors(index, thoughtIndex)) {
      const name = index.thoughts[above]?.id ?? "";
      if (toggled.get(name) === false) toggled.delete(name);
    }
    if (toggled.size < overrides.toggled.size) setOverrides({ ...overrides, toggled });
    setCurrentKey(`thought ${thoughtIndex}`);
    select({ id, byKeyboard: false });
  };
  const onKey = (event: KeyboardEvent, position: number): void => {
    const isOpen = drawn[position]?.isOpen;
    if (event.key === "Enter" || (event.key === " " && isOpen === undefined)) choose(position, true);
    else if (event.key === " " || (event.key === "ArrowRight" && isOpen === false)) toggle(position);
    else if (event.key === "Escape" && selected !== undefined) select(undefined);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const content: DrawingContent = {
    ...shape,
    label: words.tree,
    role: "tree",
    viewport,
    onViewport,
    followed,
    isLive,
    current,
    onMove: (position) => setCurrentKey(drawn[position]?.key),
    onDeselect: () => select(undefined),
    onKey,
    renderBox: (position) => {
      const entry = drawn[position];
      const box = shape.boxes[position];
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
    },
  };
  const panel =
    selected === undefined || selectedIndex === undefined ? null : (
      <ThoughtPanel
        key={selected.id}
        index={index}
        thoughtIndex={selectedIndex}
        isOnPath={onPath.has(selected.id)}
        isChosen={selected.id === tree.chosen}
        reason={reasons.get(selectedIndex)}
        takesFocus={selected.byKeyboard}
        onSelect={(id) => select({ id, byKeyboard: true })}
        onInspect={onInspect && (() => onInspect(selected.id))}
        onClose={() => select(undefined)}
      />
    );
  return { content, panel, index, find };
}
