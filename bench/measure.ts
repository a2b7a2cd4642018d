/**
 * Measuring for the benchmarks: processor time instead of wall time, contestants that take turns in one process, and
 * the median of many rounds. Machines differ, so results are ratios against a peer in the same run.
 */
export interface Comparison {
  /** Median processor time per operation, in microseconds. */
  readonly ours: number;
  readonly peer: number;
  /**
   * Median over the rounds of (peer's time / our time). Pairing the times of a round cancels out changes of the
   * machine's load.
   */
  readonly speedup: number;
}

/** Runs our code and a peer's in turns and compares their processor time. */
export function compare(ours: () => void, peer: () => void, operations: number, rounds = 25): Comparison {
  const times: [number, number][] = [];
  for (let i = 0; i < 3; i++) {
    ours();
    peer();
  }
  for (let round = 0; round < rounds; round++) {
    // The order alternates, so that neither always runs after the other's garbage.
    const first = round % 2 === 0 ? timeOf(ours, operations) : undefined;
    const theirs = timeOf(peer, operations);
    times.push([first ?? timeOf(ours, operations), theirs]);
  }
  return {
    ours: median(times.map(([own]) => own)),
    peer: median(times.map(([, theirs]) => theirs)),
    speedup: median(times.map(([own, theirs]) => theirs / own)),
  };
}

/** Processor time per operation, in microseconds. */
function timeOf(run: () => void, operations: number): number {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / operations;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Prints one result with its goal; returns whether the goal is reached. */
export function report(what: string, figure: string, goal: string, reached: boolean, detail = ""): boolean {
  print(`${reached ? "ok  " : "MISS"}  ${what}: ${figure} (goal ${goal})${detail === "" ? "" : `  ${detail}`}`);
  return reached;
}

export function times(ratio: number): string {
  return `${ratio.toFixed(2)} ×`;
}

/** Runs once and returns the processor time per token, in microseconds. `run` returns the bytes that it produced. */
export async function timeTokens(run: (words: number) => Promise<number>, words: number): Promise<number> {
  const before = process.cpuUsage();
  const bytes = await run(words);
  const { user, system } = process.cpuUsage(before);
  if (bytes < words * 20) throw new Error(`only ${bytes} bytes for ${words} tokens`);
  return (user + system) / words;
}
