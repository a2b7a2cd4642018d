/** Cuts texts to a length, counted in UTF-16 code units. A surrogate pair is never split. */

/** Returns the first `max` characters, one less where a surrogate pair would be split. */
export function cutText(text: string, max: number): string {
  return text.length <= max ? text : text.slice(0, isInsidePair(text, max) ? max - 1 : max);
}

/** Returns at most `max` characters; a text that was cut ends with `…`. */
export function shorten(text: string, max: number): string {
  return text.length <= max ? text : `${cutText(text, Math.max(0, max - 1))}…`;
}

/** True if the position is between the two halves of a surrogate pair. */
export function isInsidePair(text: string, at: number): boolean {
  return isBetween(text.charCodeAt(at), 0xdc00, 0xdfff) && isBetween(text.charCodeAt(at - 1), 0xd800, 0xdbff);
}

function isBetween(code: number, first: number, last: number): boolean {
  return code >= first && code <= last;
}
