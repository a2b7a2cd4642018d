/**
 * Keeps texts that go together within a limit: a prompt, or one record of the log. Short ones stay whole; the long ones
 * share what is left, and say that they were cut.
 */
export function fitTexts(texts: readonly string[], maxCharacters: number): readonly string[] {
  let room = maxCharacters;
  let total = 0;
  for (const { length } of texts) total += length;
  if (total <= maxCharacters) return texts;
  let left = texts.length;
  for (const length of texts.map((text) => text.length).toSorted((a, b) => a - b)) {
    if (length > room / left) break;
    room -= length;
    left--;
  }
  const share = Math.floor(room / Math.max(1, left));
  return texts.map((text) => (text.length <= share ? text : cutText(text, share)));
}

/** The beginning, with a word about it where there is room for one. */
function cutText(text: string, maxCharacters: number): string {
  const note = `\n[cut: too long to be kept whole, it had ${text.length} characters]`;
  if (note.length >= maxCharacters) return text.slice(0, maxCharacters).toWellFormed();
  return text.slice(0, maxCharacters - note.length).toWellFormed() + note;
}
