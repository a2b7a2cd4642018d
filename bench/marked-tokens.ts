/** Tokens that bear the time at which they were said, on the clock that all processes of a machine share. */

/** In microseconds. */
export function now(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e6 + nanoseconds / 1e3;
}

export function mark(): string {
  return `@${Math.round(now())};`;
}

/** When the tokens of a record or frame were said; none where it is not one of a token, but of all that was said. */
export function findMarks(text: string): number[] {
  if (!text.includes('"message_chunk"')) return [];
  return Array.from(text.matchAll(/@(\d+);/g), ([, time]) => Number(time));
}

export interface Spread {
  readonly median: number;
  readonly p99: number;
  readonly count: number;
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = Float64Array.from(values).sort();
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
  return { median: at(0.5), p99: at(0.99), count: sorted.length };
}
