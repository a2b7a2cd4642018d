/**
 * How benchmarks measure here: processor time, not wall time; the contestants take turns in one process, and the median
 * of many turns counts. Machines differ and are noisy, so what is printed is a ratio against a peer in the same run.
 */
export interface Contestant {
  readonly name: string;
  readonly run: () => void;
}

/** Median processor time per operation of each contestant, in microseconds. */
export function measure(contestants: readonly Contestant[], operations: number, rounds = 15): Map<string, number> {
  const times = new Map<string, number[]>(contestants.map(({ name }) => [name, []]));
  for (const { run } of contestants) for (let i = 0; i < 3; i++) run();
  for (let round = 0; round < rounds; round++) {
    // Another one begins each round, so that nobody always runs after the same neighbour.
    for (let i = 0; i < contestants.length; i++) {
      const { name, run } = contestants[(i + round) % contestants.length] as Contestant;
      const before = process.cpuUsage();
      run();
      const { user, system } = process.cpuUsage(before);
      times.get(name)?.push((user + system) / operations);
    }
  }
  return new Map([...times].map(([name, list]) => [name, median(list)]));
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** One line of a result, with its goal and whether it is reached. */
export function report(what: string, ratio: number, goal: string, reached: boolean, detail = ""): boolean {
  print(
    `${reached ? "ok  " : "MISS"}  ${what}: ${ratio.toFixed(2)} ×  (goal ${goal})${detail === "" ? "" : `  ${detail}`}`,
  );
  return reached;
}
