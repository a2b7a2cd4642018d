/**
 * How benchmarks measure here: processor time, not wall time; the contestants take turns in one process, and the median
 * of many turns counts. Machines differ and are noisy, so what is printed is a ratio against a peer in the same run.
 */
export interface Comparison {
  /** Median processor time per operation, in microseconds. */
  readonly ours: number;
  readonly peer: number;
  /** Median over the rounds of (peer's time / our time): neighbours in time share the machine's mood. */
  readonly speedup: number;
}

/** Our code against a peer's, taking turns. */
export function compare(ours: () => void, peer: () => void, operations: number, rounds = 25): Comparison {
  const times: [number, number][] = [];
  for (let i = 0; i < 3; i++) {
    ours();
    peer();
  }
  for (let round = 0; round < rounds; round++) {
    // Each goes first every other round, so that nobody always runs after the other's garbage.
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

/** One line of a result, with its goal and whether it is reached. */
export function report(what: string, figure: string, goal: string, reached: boolean, detail = ""): boolean {
  print(`${reached ? "ok  " : "MISS"}  ${what}: ${figure} (goal ${goal})${detail === "" ? "" : `  ${detail}`}`);
  return reached;
}

export function times(ratio: number): string {
  return `${ratio.toFixed(2)} ×`;
}
