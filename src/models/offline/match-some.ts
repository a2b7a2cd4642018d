/** Returns the first matches of a pattern. The limit bounds the time for hostile input. */

const MAX_MATCHES = 32;

export function matchSome(text: string, pattern: RegExp): readonly RegExpExecArray[] {
  const found: RegExpExecArray[] = [];
  for (const match of text.matchAll(pattern)) if (found.push(match) === MAX_MATCHES) break;
  return found;
}
