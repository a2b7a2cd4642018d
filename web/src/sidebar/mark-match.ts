/** Splits a text at the matches of a search, for highlighting. */
export interface MatchPiece {
  readonly text: string;
  readonly isMatch: boolean;
}

/** Matches the whole query, else its words, ignoring case. */
export function markMatch(text: string, query: string): readonly MatchPiece[] {
  const whole = query.trim();
  const hasWhole = whole !== "" && text.toLowerCase().includes(whole.toLowerCase());
  const matcher = hasWhole ? new RegExp(`(${escape(whole)})`, "giu") : createMatcher(query);
  if (matcher === undefined) return [{ text, isMatch: false }];
  const pieces = text.split(matcher);
  return pieces.flatMap((piece, index) => (piece === "" ? [] : [{ text: piece, isMatch: index % 2 === 1 }]));
}

/** Returns an expression for the words of a query and for the whole query; undefined if it has none. */
export function createMatcher(query: string): RegExp | undefined {
  const whole = query.trim();
  const words = whole.split(/\s+/u).filter((word) => word !== "");
  if (words.length === 0) return undefined;
  // Longest first: of two words with the same start, the longer one must match.
  const sorted = [whole, ...words].toSorted((one, other) => other.length - one.length).map(escape);
  return new RegExp(`(${sorted.join("|")})`, "giu");
}

function escape(word: string): string {
  return word.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}
