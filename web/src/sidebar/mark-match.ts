/** Where the words that were searched for stand in a text, so that they can be shown there. */
export interface TextPiece {
  readonly text: string;
  readonly isMatch: boolean;
}

/** The whole query where it is there, else its words; without regard to upper and lower case. */
export function markMatch(text: string, query: string): readonly TextPiece[] {
  const whole = query.trim();
  const words = whole.split(/\s+/u).filter((word) => word !== "");
  const hasWhole = whole !== "" && text.toLowerCase().includes(whole.toLowerCase());
  const wanted = hasWhole ? [whole] : words;
  if (wanted.length === 0) return [{ text, isMatch: false }];
  // The longest first: of two that begin alike the longer is meant.
  const sorted = wanted.toSorted((one, other) => other.length - one.length).map(escape);
  const pieces = text.split(new RegExp(`(${sorted.join("|")})`, "giu"));
  return pieces.flatMap((piece, index) => (piece === "" ? [] : [{ text: piece, isMatch: index % 2 === 1 }]));
}

function escape(word: string): string {
  return word.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}
