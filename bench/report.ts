/** The results of a run, as JSON and as text on the terminal. */
import { availableParallelism, cpus, totalmem } from "node:os";
import { OURS, type Row } from "./benchmark.ts";
import type { Result } from "./race.ts";
import { compareRounds, type Spread } from "./statistics.ts";

export interface RowResult {
  readonly benchmark: string;
  readonly row: Row;
  readonly results: ReadonlyMap<string, Result>;
}

/** The results as JSON. */
export interface Report {
  readonly machine: { readonly cpu: string; readonly cores: number; readonly memoryGb: number; readonly node: string };
  readonly date: string;
  /** Rounds of each contestant. */
  readonly rounds: number;
  readonly rows: readonly ReportedRow[];
}

export interface ReportedRow {
  readonly benchmark: string;
  readonly what: string;
  readonly unit: string;
  readonly sizes: readonly number[];
  /** Ours first. */
  readonly contestants: readonly ReportedContestant[];
  /** Contestants that could not run on the machine, and why. */
  readonly missing: { readonly [name: string]: string };
}

export interface ReportedContestant {
  readonly name: string;
  readonly isLimit: boolean;
  /** Microseconds of processor time per unit. */
  readonly cost: Spread;
  /** Its cost as a multiple of ours. */
  readonly ratio?: Spread;
  readonly exponent?: number;
  readonly peakMb: number;
}

export function createReport(results: readonly RowResult[], rounds: number): Report {
  return {
    machine: {
      cpu: cpus()[0]?.model.trim() ?? "unknown",
      cores: availableParallelism(),
      memoryGb: Math.round(totalmem() / 2 ** 30),
      node: process.version,
    },
    date: new Date().toISOString().slice(0, 10),
    rounds,
    rows: results.map(reportRow),
  };
}

function reportRow({ benchmark, row, results }: RowResult): ReportedRow {
  const ours = results.get(OURS)?.rounds ?? [];
  const contestants = [...results].map(([name, { cost, exponent, peakMb, rounds }]): ReportedContestant => ({
    name,
    isLimit: Object.hasOwn(row.limits ?? {}, name),
    cost,
    ...(name === OURS ? {} : { ratio: compareRounds(rounds, ours) }),
    ...(exponent === undefined ? {} : { exponent }),
    peakMb: Math.round(peakMb),
  }));
  return { benchmark, what: row.what, unit: row.unit, sizes: row.sizes, contestants, missing: row.missing ?? {} };
}

export const formatTime = (us: number): string =>
  us >= 1e6 ? `${(us / 1e6).toFixed(2)} s` : us >= 1000 ? `${(us / 1000).toFixed(2)} ms` : `${us.toFixed(2)} µs`;
export const formatRatio = ({ median, quartiles: [low, high] }: Spread): string =>
  `${median.toFixed(2)} × (${low.toFixed(2)}–${high.toFixed(2)})`;

/** The work, the unit, and the number of units of a round. */
export function describeRow({ what, unit, sizes }: ReportedRow): string {
  const largest = Math.max(...sizes);
  return `${what}, per ${unit}${largest === 1 ? "" : ` of ${largest.toLocaleString("en")}`}`;
}

/** One line per contestant. */
export function formatRow(result: RowResult): string {
  const row = reportRow(result);
  const lines = row.contestants.map(({ name, isLimit, cost, ratio, exponent, peakMb }) =>
    [
      `    ${name}${isLimit ? " (limit)" : ""}`.padEnd(44),
      formatTime(cost.median).padStart(10),
      (ratio === undefined ? "" : formatRatio(ratio)).padStart(28),
      (exponent === undefined ? "" : `n^${exponent.toFixed(2)}`).padStart(8),
      `${peakMb} MB`.padStart(9),
    ].join(""),
  );
  const missing = Object.entries(row.missing).map(([name, reason]) => `    ${name}: not measured, ${reason}`);
  return [`  ${describeRow(row)}`, ...lines, ...missing].join("\n");
}
