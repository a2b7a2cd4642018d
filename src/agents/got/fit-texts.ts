/**
 * Shortens texts so that together they fit a limit, such as a prompt or a record. Short texts stay complete; long ones
 * share the remaining space and are marked as cut.
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
  return texts.map((text) => (text.length <= share ? text : cutWithNote(text, share)));
}

/** Keeps the beginning, with a note if there is room for it. */
function cutWithNote(text: string, maxCharacters: number): string {
  const note = `\n[cut off: too long, ${text.length} characters in total]`;
  if (note.length >= maxCharacters) return text.slice(0, maxCharacters).toWellFormed();
  return text.slice(0, maxCharacters - note.length).toWellFormed() + note;
}
