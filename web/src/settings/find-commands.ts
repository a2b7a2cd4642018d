/** Ranks the entries of the command palette by how well they match the typed text. */

export interface PaletteEntry {
  readonly key: string;
  readonly label: string;
  /** Heading of the group that the entry belongs to. */
  readonly group: string;
  readonly detail?: string | undefined;
}

/** Entries shown at once. */
const MAX_SHOWN = 50;

/**
 * Returns the entries that contain every word of the query: those that begin with it first, then those with a word that
 * does, then the others. Groups stay together, in the order of their best entry. Without a query, all are returned.
 */
export function findCommands<E extends PaletteEntry>(entries: readonly E[], query: string): readonly E[] {
  const words = fold(query).split(/\s+/u).filter(Boolean);
  const ranked = entries
    .flatMap((entry) => {
      const rank = rankOf(fold(entry.label), words);
      return rank === undefined ? [] : [{ entry, rank }];
    })
    .toSorted((a, b) => a.rank - b.rank)
    .slice(0, MAX_SHOWN)
    .map(({ entry }) => entry);
  return [...Map.groupBy(ranked, ({ group }) => group).values()].flat();
}

function rankOf(label: string, words: readonly string[]): number | undefined {
  if (!words.every((word) => label.includes(word))) return undefined;
  const [first = ""] = words;
  if (label.startsWith(first)) return 0;
  return label.includes(` ${first}`) ? 1 : 2;
}

function fold(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}
