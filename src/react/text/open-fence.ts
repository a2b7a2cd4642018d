/**
 * A fenced block of code that is being written: found by its first line, and searched for its last line by line, each
 * once. What it holds is not looked at.
 */
export interface Fence {
  /** Where its text begins. */
  readonly textStart: number;
  readonly language: string;
  readonly close: RegExp;
  /** The first line that has not been looked at. */
  next: number;
  /** What may be shown: a last line that may become the fence is not. */
  shownTo: number;
}

/** The fence that begins right at `start` with a whole line, and is not indented: then its text is shown as it is. */
export function openFence(source: string, start: number): Fence | undefined {
  const char = source[start];
  if (char !== "`" && char !== "~") return undefined;
  const end = source.indexOf("\n", start);
  if (end === -1) return undefined;
  const [, marks, info = ""] = /^(`{3,}(?=[^`]*$)|~{3,})(.*)$/.exec(source.slice(start, end)) ?? [];
  if (marks === undefined) return undefined;
  return {
    textStart: end + 1,
    language: info.trim().replaceAll(/\\([\p{P}\p{S}])/gu, "$1"),
    close: new RegExp(`^ {0,3}${char}{${marks.length},} *$`),
    next: end + 1,
    shownTo: end + 1,
  };
}

/** Where it ends, behind its last line; undefined while it is open. */
export function readFence(fence: Fence, source: string, isComplete: boolean): number | undefined {
  for (;;) {
    const end = source.indexOf("\n", fence.next);
    if (end === -1) break;
    if (fence.close.test(source.slice(fence.next, end))) return end;
    fence.next = end + 1;
  }
  if (isComplete) return source.length;
  const line = source.slice(fence.next);
  const isHeld = line.length < 100 && /^ {0,3}(?:`+|~+)? *$/.test(line);
  // The line break before a line that is held back is shown with it.
  fence.shownTo = isHeld ? Math.max(fence.textStart, fence.next - 1) : source.length;
  return undefined;
}
