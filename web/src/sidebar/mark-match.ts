/** Splits a text at the matches of a search, for highlighting. */
export interface MatchPiece {
  readonly text: string;
  readonly isMatch: boolean;
}

/** Matches the whole query, else its words, ignoring case. */
export function markMatch(text: string, query: string): readonly MatchPiece[] {
  const whole = query.trim();
  const words = whole.split(/\s+/u).filter((word) => word !== "");
  const hasWhole = whole !== "" && text.toLowerCase().includes(whole.toLowerCase());
  const wanted = hasWhole ? [whole] : words;
  if (wanted.length === 0) return [{ text, isMatch: false }];
  // Longest first: of two words with the same start, the longer one must match.
  const sorted = wanted.toSorted((one, other) => other.length - one.length).map(escape);
  const pieces = text.split(new RegExp(`(${sorted.join("|")})`, "giu"));
  return pieces.flatMap((piece, index) => (piece === "" ? [] : [{ text: piece, isMatch: index % 2 === 1 }]));
}

function escape(word: string): string {
  return word.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}
