/**
 * Tokens that contain the time at which the model emitted them, on the monotonic clock that all processes of a machine
 * share.
 */

/** Monotonic time in microseconds. */
export function nowUs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e6 + nanoseconds / 1e3;
}

export function createMark(): string {
  return `@${Math.round(nowUs())};`;
}

/**
 * Emission times of the tokens in a record or frame. Only `message_chunk` events count: later events repeat the whole
 * text.
 */
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
