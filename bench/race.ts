/**
 * Runs the contestants of a row in turns, each in its own process. All get the same sizes, warm-up and number of
 * rounds. The order rotates, so that none always runs after the same other one.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listContestants, type Row } from "./benchmark.ts";
import { fitExponent, type Spread, spreadOf } from "./statistics.ts";

export interface RaceOptions {
  readonly rounds: number;
  /** Each contestant works at least this long before its rounds count, so that its code is compiled. */
  readonly warmUpMs: number;
}

interface Answer {
  /** Processor time of the round. */
  readonly us: number;
  readonly peakMb: number;
}

/** What one contestant needs. */
export interface Result {
  /** Processor time per unit with the largest size, in microseconds. */
  readonly cost: Spread;
  /** Of cost ~ size^exponent. Absent with one size. */
  readonly exponent?: number;
  /** Peak memory of the process, in MB. */
  readonly peakMb: number;
  /** Processor time per unit of each round, in the order of the rounds. */
  readonly rounds: readonly number[];
}

/** A contestant and the checkout that its process runs. */
export interface Entrant {
  readonly name: string;
  /** The folder with the benchmarks. */
  readonly folder: string;
}

/** Work that hardly uses the processor is warmed up for this multiple of the time. */
const MAX_WARM_UP = 6;
/** Slow contestants are warmed up as often as this. */
const MIN_WARM_UPS = 3;
/** A round that takes longer is a fault of the contestant. */
const MAX_ROUND_MS = 180_000;

/** Runs all contestants of a row. */
export async function runRow(benchmark: string, row: Row, options: RaceOptions): Promise<Map<string, Result>> {
  const entrants = Object.keys(listContestants(row)).map((name) => ({
    name,
    label: name,
    folder: import.meta.dirname,
  }));
  return race(benchmark, row, entrants, options);
}

export async function race(
  benchmark: string,
  { what, sizes }: Row,
  entrants: readonly (Entrant & { readonly label: string })[],
  { rounds, warmUpMs }: RaceOptions,
): Promise<Map<string, Result>> {
  const largest = Math.max(...sizes);
  const running = entrants.map((entrant) => ({ ...entrant, process: start(benchmark, what, entrant), peakMb: 0 }));
  const times = new Map(running.map(({ label }) => [label, new Map(sizes.map((size) => [size, [] as number[]]))]));
  try {
    for (const { process: child } of running) {
      const end = performance.now() + MAX_WARM_UP * warmUpMs;
      for (let n = 0, ms = 0; n < MIN_WARM_UPS || (ms < warmUpMs && performance.now() < end); n++)
        for (const size of sizes) ms += (await ask(child, size)).us / 1000;
    }
    for (let round = 0; round < rounds; round++) {
      const first = round % running.length;
      for (const entrant of [...running.slice(first), ...running.slice(0, first)])
        for (const size of sizes) {
          const { us, peakMb } = await ask(entrant.process, size);
          entrant.peakMb = Math.max(entrant.peakMb, peakMb);
          times
            .get(entrant.label)
            ?.get(size)
            ?.push(us / size);
        }
    }
  } finally {
    await Promise.all(running.map(({ process: child }) => end(child)));
  }
  return new Map(
    running.map(({ label, peakMb }) => {
      const bySize = times.get(label) ?? new Map<number, number[]>();
      const costs = bySize.get(largest) ?? [];
      const exponent = sizes.length > 1 ? { exponent: 1 + fitExponent(bySize) } : {};
      return [label, { cost: spreadOf(costs), peakMb, rounds: costs, ...exponent }];
    }),
  );
}

/** Temporary folders of contestants. They are deleted here, because a process that is killed leaves its own. */
const folders = new Set<string>();

/** A PostgreSQL server that ends with its contestant may change the folder at the same time. */
function deleteFolder(folder: string): void {
  for (let attempt = 0; attempt < 100 && existsSync(folder); attempt++)
    try {
      rmSync(folder, { recursive: true, force: true });
    } catch {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    }
}

process.on("exit", () => folders.forEach(deleteFolder));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

function start(benchmark: string, what: string, { name, folder }: Entrant): ChildProcess {
  const temporary = mkdtempSync(join(tmpdir(), "loom-bench-"));
  // PostgreSQL runs as another user.
  chmodSync(temporary, 0o755);
  folders.add(temporary);
  const child = fork(join(folder, "contestant.ts"), [benchmark, what, name], {
    // Some packages do more in development, or if they print what they do.
    env: { ...process.env, TMPDIR: temporary, NODE_ENV: "production", DEBUG: "" },
    execArgv: ["--disable-warning=ExperimentalWarning"],
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  child.once("exit", () => {
    deleteFolder(temporary);
    folders.delete(temporary);
  });
  return child;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.disconnect();
  await exited;
}

/** Asks for one round of a size. */
async function ask(child: ChildProcess, size: number): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const onExit = (code: number | null): void => reject(new Error(`A contestant ended with code ${code}.`));
  const timer = setTimeout(() => {
    child.kill("SIGKILL");
    reject(new Error(`A round took longer than ${MAX_ROUND_MS / 1000} s.`));
  }, MAX_ROUND_MS);
  child.once("exit", onExit);
  child.once("message", (answer: Answer | { readonly error: string }) => {
    if ("error" in answer) reject(new Error(answer.error));
    else resolve(answer);
  });
  child.send(size);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    child.off("exit", onExit);
  }
}
