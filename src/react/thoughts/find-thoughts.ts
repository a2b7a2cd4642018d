/** Finds the thoughts or steps of a drawing whose text contains a query. */

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
