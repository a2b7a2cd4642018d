/**
 * The tree of thoughts of a run, as it grows: scores, the way that was chosen, and the branches that are dead, with why.
 * What a large one does not show is counted where it would be.
 */
import { type KeyboardEvent, memo, type ReactNode, useCallback, useMemo, useState } from "react";
import type { TreeView } from "../../client/index.ts";
import { Disclosure } from "../ui/disclosure.tsx";
import { Icon } from "../ui/icon.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { useWords } from "../ui/words.ts";
import { drawTree } from "./draw-tree.ts";
import { Drawing } from "./drawing.tsx";
import { countNewest, explainAbandoned, summariseTree, type TreeFacts } from "./explain-thoughts.ts";
import { FOLD_LIMITS, foldTree, type FoldWishes, NO_WISHES } from "./fold-tree.ts";
import { GRID } from "./grid.ts";
import { formatScore } from "./score.tsx";
import { ThoughtNode } from "./thought-node.tsx";
import { ThoughtPanel } from "./thought-panel.tsx";
import { TREE_WORDS } from "./thoughts-words.ts";
import { indexTree } from "./tree-index.ts";
import { type Opened, useOpened } from "./use-opened.ts";

export interface ThoughtTreeProps {
  readonly tree: TreeView;
  readonly turnKey: string;
  readonly isLive: boolean;
}

/** Open while it grows; closed where it is only looked back at. */
export const ThoughtTree = memo(function ThoughtTree({ tree, turnKey, isLive }: ThoughtTreeProps): ReactNode {
  const words = useWords(TREE_WORDS);
  const facts = useMemo(() => summariseTree(tree), [tree]);
  const { element, isOpen, setOpen, ...selection } = useOpened(turnKey, "thought", isLive);
  return (
    <section ref={element} className="loom-thoughts loom-card" aria-label={words.tree}>
      <Disclosure isOpen={isOpen} onToggle={setOpen} summary={<TreeSummary facts={facts} />}>
        <TreeBody tree={tree} turnKey={turnKey} isLive={isLive} best={facts.best} {...selection} />
      </Disclosure>
    </section>
  );
});

function TreeSummary({ facts: { count, depth, best, backtracks } }: { readonly facts: TreeFacts }): ReactNode {
  const words = useWords(TREE_WORDS);
  const { language } = useUi();
  const said = [
    words.thoughts(count),
    words.depth(depth),
    ...(best === undefined ? [] : [words.best(formatScore(best, language))]),
    ...(backtracks === 0 ? [] : [words.backtracks(backtracks)]),
  ];
  return (
    <>
      <Icon name="tree" />
      <span className="loom-thoughts-title">{words.tree}</span>
      <span className="loom-thoughts-facts">{said.join(" · ")}</span>
    </>
  );
}

interface TreeBodyProps extends ThoughtTreeProps, Pick<Opened, "selected" | "select"> {
  readonly best: number | undefined;
}

function TreeBody({ tree, turnKey, isLive, best, selected, select }: TreeBodyProps): ReactNode {
  const words = useWords(TREE_WORDS);
  const [wishes, setWishes] = useState<FoldWishes>(NO_WISHES);
  const [currentKey, setCurrentKey] = useState<string>();
  const index = useMemo(() => indexTree(tree.thoughts), [tree.thoughts]);
  const reasons = useMemo(() => explainAbandoned(index, tree), [index, tree]);
  const drawn = useMemo(
    () => foldTree(index, tree, { ...wishes, selected: selected?.id }),
    [index, tree, wishes, selected?.id],
  );
  const { boxes, lines, width, height } = useMemo(() => drawTree(index, drawn, tree), [index, drawn, tree]);
  const onPath = useMemo(() => new Set(tree.path), [tree.path]);

  const last = tree.thoughts.length - 1;
  const chosen = tree.chosen === undefined ? undefined : index.places.get(tree.chosen);
  const selectedPlace = selected === undefined ? undefined : index.places.get(selected.id);
  const looked = selectedPlace ?? (isLive ? last : (chosen ?? last));
  const followed = useMemo(() => drawn.findIndex(({ place }) => place === looked), [drawn, looked]);
  const found = currentKey === undefined ? -1 : drawn.findIndex(({ key }) => key === currentKey);
  const current = found >= 0 ? found : Math.max(0, followed);
  const newest = isLive ? tree.thoughts.length - countNewest(index) : Infinity;

  const toggle = useCallback(
    (position: number) => {
      const { place, isOpen, parent } = drawn[position] ?? {};
      const id = place === undefined ? undefined : index.thoughts[place]?.id;
      if (id !== undefined && isOpen !== undefined)
        setWishes((before) => ({ ...before, toggled: new Map(before.toggled).set(id, !isOpen) }));
      if (place !== undefined) return;
      const above = drawn[parent ?? -1]?.place;
      const name = above === undefined ? "" : (index.thoughts[above]?.id ?? "");
      setWishes(({ more, ...before }) => {
        const wanted = (more.get(name) ?? 0) + FOLD_LIMITS.siblings;
        return { ...before, more: new Map(more).set(name, wanted) };
      });
    },
    [drawn, index],
  );
  const choose = useCallback(
    (position: number, byKeyboard = false) => {
      const entry = drawn[position];
      if (entry === undefined) return;
      setCurrentKey(entry.key);
      const id = entry.place === undefined ? undefined : index.thoughts[entry.place]?.id;
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
        boxWidth={GRID.width}
        lines={lines}
        width={width}
        height={height}
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
          const { place, folded, isOpen, column, position: sibling, count } = entry;
          const thought = place === undefined ? undefined : tree.thoughts[place];
          return (
            <ThoughtNode
              key={entry.key}
              thought={thought}
              position={position}
              x={box.x}
              y={box.y}
              isSmall={box.height < GRID.height}
              column={column}
              sibling={sibling}
              siblings={count}
              folded={folded}
              isOpen={isOpen}
              isOnPath={thought !== undefined && onPath.has(thought.id)}
              isChosen={thought !== undefined && thought.id === tree.chosen}
              isSelected={thought !== undefined && thought.id === selected?.id}
              isNew={place !== undefined && place >= newest}
              hasKeyboard={position === current}
              reason={place === undefined ? undefined : reasons.get(place)}
              best={best}
              onChoose={choose}
              onToggle={toggle}
            />
          );
        }}
      />
      {selected === undefined || selectedPlace === undefined ? null : (
        <ThoughtPanel
          key={selected.id}
          index={index}
          place={selectedPlace}
          turnKey={turnKey}
          isOnPath={onPath.has(selected.id)}
          isChosen={selected.id === tree.chosen}
          reason={reasons.get(selectedPlace)}
          takesFocus={selected.byKeyboard}
          onSelect={(id) => select({ id, byKeyboard: true })}
          onClose={() => select(undefined)}
        />
      )}
    </>
  );
}
