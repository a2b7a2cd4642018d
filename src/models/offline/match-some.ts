/** The first places in a text where a pattern fits. No message asks for more; what looks as if it did is not worth the time. */

const MAX_MATCHES = 32;

export function matchSome(text: string, pattern: RegExp): readonly RegExpExecArray[] {
  const found: RegExpExecArray[] = [];
  for (const match of text.matchAll(pattern)) if (found.push(match) === MAX_MATCHES) break;
  return found;
}
