/** Results as a table, as JSON, and as a page with plots in docs/benchmarks.md. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, totalmem } from "node:os";
import { join } from "node:path";
import { OURS, type Row } from "./benchmark.ts";
import { drawPlot } from "./plot.ts";
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
  readonly isQuick: boolean;
  readonly rows: readonly ReportedRow[];
}

export interface ReportedRow {
  readonly benchmark: string;
  readonly what: string;
  readonly unit: string;
  readonly sizes: readonly number[];
  /** Ours first. */
  readonly contestants: readonly ReportedContestant[];
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

const DOCS = join(import.meta.dirname, "..", "docs");
const PLOTS = join(DOCS, "benchmarks");

export function createReport(results: readonly RowResult[], isQuick: boolean): Report {
  return {
    machine: {
      cpu: cpus()[0]?.model.trim() ?? "unknown",
      cores: availableParallelism(),
      memoryGb: Math.round(totalmem() / 2 ** 30),
      node: process.version,
    },
    date: new Date().toISOString().slice(0, 10),
    isQuick,
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
  return { benchmark, what: row.what, unit: row.unit, sizes: row.sizes, contestants };
}

const formatTime = (us: number): string =>
  us >= 1e6 ? `${(us / 1e6).toFixed(2)} s` : us >= 1000 ? `${(us / 1000).toFixed(2)} ms` : `${us.toFixed(2)} µs`;
const formatRatio = ({ median, quartiles: [low, high] }: Spread): string =>
  `${median.toFixed(2)} × (${low.toFixed(2)}–${high.toFixed(2)})`;

/** One line per contestant. */
export function formatRow(result: RowResult): string {
  const { what, unit, contestants } = reportRow(result);
  const lines = contestants.map(({ name, isLimit, cost, ratio, exponent, peakMb }) =>
    [
      `    ${name}${isLimit ? " (limit)" : ""}`.padEnd(44),
      formatTime(cost.median).padStart(10),
      (ratio === undefined ? "" : formatRatio(ratio)).padStart(24),
      (exponent === undefined ? "" : `n^${exponent.toFixed(2)}`).padStart(8),
      `${peakMb} MB`.padStart(9),
    ].join(""),
  );
  return [`  ${what}, per ${unit}`, ...lines].join("\n");
}

const INTRODUCTION = `# Benchmarks

\`npm run bench\` compares Loom with other packages that do the same work. Each contestant runs in its own process, and the
processes take turns. The figures are CPU times; "× Loom" is a multiple of ours, so a value below 1 means that the other one
needs less. A limit is the least that any implementation must do, such as a plain loop over the same input. Growth is the
exponent of the cost with the size of the input: 1 is linear.

Machines differ, so compare ratios, not times. \`npm run bench -- --docs\` measures again and writes this page.`;

/** Writes docs/benchmarks.md, and one plot per benchmark. */
export function writeDocs(report: Report): void {
  rmSync(PLOTS, { recursive: true, force: true });
  mkdirSync(PLOTS, { recursive: true });
  const { machine, date } = report;
  const sections = [...Map.groupBy(report.rows, ({ benchmark }) => benchmark)].map(([name, rows]) => {
    writeFileSync(join(PLOTS, `${name}.svg`), drawPlot(rows));
    return [`## ${name}`, `![CPU time as a multiple of Loom's](benchmarks/${name}.svg)`, formatMarkdown(rows)].join(
      "\n\n",
    );
  });
  const measured = `Measured on ${date} with Node ${machine.node.slice(1)} on ${machine.cores} cores (${machine.cpu}) and ${machine.memoryGb} GB.`;
  writeFileSync(join(DOCS, "benchmarks.md"), `${[INTRODUCTION, measured, ...sections].join("\n\n")}\n`);
}

function formatMarkdown(rows: readonly ReportedRow[]): string {
  const cells = rows.flatMap(({ what, unit, contestants }) =>
    contestants.map(({ name, isLimit, cost, ratio, exponent, peakMb }, index) =>
      [
        index === 0 ? `${what}, per ${unit}` : "",
        isLimit ? `${name} (limit)` : name,
        formatTime(cost.median),
        ratio === undefined ? "" : formatRatio(ratio),
        exponent === undefined ? "" : exponent.toFixed(2),
        String(peakMb),
      ].join(" | "),
    ),
  );
  const head = ["Work", "", "CPU time", "× Loom (quartiles)", "Growth", "Peak MB"];
  return [head.join(" | "), head.map(() => "---").join(" | "), ...cells].map((line) => `| ${line} |`).join("\n");
}
