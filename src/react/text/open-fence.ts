/** An open code fence. It is recognized by its first line and checked line by line for its end, each line once. */
export interface Fence {
  /** Offset of the code. */
  readonly textStart: number;
  readonly language: string;
  readonly close: RegExp;
  /** Offset of the first unchecked line. */
  next: number;
  /** End of the visible code. A last line that may become the closing fence is held back. */
  shownTo: number;
}

/** Returns the unindented fence that starts at `start` with a complete line. */
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

/** Returns the offset after the closing line, or undefined while the fence is open. */
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
  // The line break before a held-back line is held back too.
  fence.shownTo = isHeld ? Math.max(fence.textStart, fence.next - 1) : source.length;
  return undefined;
}
