/** The search field of a canvas. The first match is shown while typing; Enter goes to the next one. */
import { type KeyboardEvent, type ReactNode, type Ref, useMemo, useState } from "react";
import { IconButton } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { useWords } from "../ui/words.ts";
import { DRAWING_WORDS } from "./thoughts-words.ts";

export interface CanvasSearchProps {
  readonly label: string;
  readonly texts: readonly SearchedText[];
  readonly onFind: (id: string) => void;
  readonly ref?: Ref<HTMLInputElement>;
}

export function CanvasSearch({ label, texts, onFind, ref }: CanvasSearchProps): ReactNode {
  const words = useWords(DRAWING_WORDS);
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const matches = useMemo(() => findThoughts(texts, query), [texts, query]);
  const { length: count } = matches;
  const shown = Math.min(at, Math.max(0, count - 1));
  const go = (to: number, among = matches): void => {
    if (among.length === 0) return;
    const next = (to + among.length) % among.length;
    setAt(next);
    onFind(among[next] as string);
  };
  const search = (wanted: string): void => {
    setQuery(wanted);
    setAt(0);
    go(0, findThoughts(texts, wanted));
  };
  const handleKey = (event: KeyboardEvent): void => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Enter") go(shown + (event.shiftKey ? -1 : 1));
    else if (event.key === "Escape" && query !== "") setQuery("");
    else return;
    event.preventDefault();
  };
  return (
    <div className="loom-canvas-search" role="search">
      <Icon name="search" />
      <input
        ref={ref}
        type="search"
        aria-label={label}
        placeholder={label}
        value={query}
        onChange={({ target }) => search(target.value)}
        onKeyDown={handleKey}
      />
      <span className="loom-canvas-matches" role="status">
        {query.trim() === "" ? "" : count === 0 ? words.noMatches : words.matches(shown + 1, count)}
      </span>
      {count === 0 ? null : (
        <>
          <IconButton icon="up" label={words.previousMatch} onClick={() => go(shown - 1)} />
          <IconButton icon="down" label={words.nextMatch} onClick={() => go(shown + 1)} />
        </>
      )}
    </div>
  );
}

/** A text per thought or step, in the order in which matches are visited. */
export interface SearchedText {
  readonly id: string;
  readonly text: string;
}

/** Returns the IDs of the texts that contain every word of the query, in any order and letter case. */
export function findThoughts(texts: readonly SearchedText[], query: string): readonly string[] {
  const words = fold(query).split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  return texts.flatMap(({ id, text }) => {
    const folded = fold(text);
    return words.every((word) => folded.includes(word)) ? [id] : [];
  });
}

function fold(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}
