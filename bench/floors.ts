/**
 * What a run must reach (`floors.json`). A claim is a sentence of README or docs about a ratio; its floor is the figure
 * in it. The measured floors come from an earlier run (`--set-floors`): the cost of each other contestant as a multiple of
 * ours, at least, and the exponent of our growth, at most.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Report, ReportedRow } from "./report.ts";

interface Claim {
  readonly benchmark: string;
  readonly row: string;
  /** The other contestant, or `growth` for the exponent of ours. */
  readonly against: string;
  /** The figure is at least this: the cost of the other one as a multiple of ours. */
  readonly least?: number;
  /** The figure is at most this: the exponent. */
  readonly most?: number;
  /** The files that claim it, and their words. */
  readonly says: { readonly [file: string]: string };
}

interface Floors {
  readonly claims: readonly Claim[];
  /** By benchmark, row, and contestant or `growth`. */
  readonly measured: { readonly [benchmark: string]: { readonly [row: string]: { readonly [name: string]: number } } };
}

const FILE = join(import.meta.dirname, "floors.json");
const ROOT = join(import.meta.dirname, "..");
const GROWTH = "growth";
/** What the same code may differ by on another or a busier machine, in addition to the spread of the rounds. */
const MARGIN = 0.3;

const readFloors = (): Floors => JSON.parse(readFileSync(FILE, "utf8")) as Floors;

/** A figure that is below its floor, or was not measured. */
export interface Miss {
  readonly benchmark: string;
  readonly what: string;
  /** The other contestant, or `growth`. */
  readonly against: string;
  readonly fault: string;
}

/** Returns the misses among the benchmarks and rows that ran. */
export function findMisses(report: Report): readonly Miss[] {
  const { claims, measured } = readFloors();
  return [
    ...claims.flatMap((claim) => checkClaim(claim, report)),
    ...report.rows.flatMap((row) => checkRow(row, measured[row.benchmark]?.[row.what] ?? {})),
  ];
}

/** Returns the floors of contestants that could not run on this machine. */
export function findMissing({ rows }: Report): readonly string[] {
  const { measured } = readFloors();
  return rows.flatMap(({ benchmark, what, missing }) =>
    Object.entries(missing)
      .filter(([name]) => Object.hasOwn(measured[benchmark]?.[what] ?? {}, name))
      .map(([name, reason]) => `${benchmark}, ${what}, ${name}: ${reason}`),
  );
}

/** Returns the files of claims that do not have their words. */
export function findUnsaid(): readonly string[] {
  return readFloors().claims.flatMap(({ says }) =>
    Object.entries(says)
      .filter(([file, text]) => !readFileSync(join(ROOT, file), "utf8").includes(text))
      .map(([file, text]) => `${file} does not say "${text}"`),
  );
}

function checkClaim(
  { benchmark, row: what, against, least = 0, most = Infinity, says }: Claim,
  { rows }: Report,
): Miss[] {
  if (!rows.some((row) => row.benchmark === benchmark)) return [];
  const row = rows.find((found) => found.benchmark === benchmark && found.what === what);
  // A claim holds for most rounds.
  const figure = row === undefined ? undefined : readFigures(row)[against]?.low;
  if (figure !== undefined && figure >= least && figure <= most) return [];
  const fault =
    figure === undefined
      ? "not measured"
      : `${figure.toFixed(2)}, but ${Object.keys(says).join(", ")} claims ${least || most}`;
  return [{ benchmark, what, against, fault }];
}

function checkRow(row: ReportedRow, floors: { readonly [name: string]: number }): Miss[] {
  const { benchmark, what, missing } = row;
  const figures = readFigures(row);
  return Object.entries(floors).flatMap(([against, floor]) => {
    const figure = figures[against]?.median;
    const isGrowth = against === GROWTH;
    const isReached = figure !== undefined && (isGrowth ? figure <= floor : figure >= floor);
    if (isReached || Object.hasOwn(missing, against)) return [];
    const fault = `${figure?.toFixed(2) ?? "not measured"}, ${isGrowth ? "at most" : "at least"} ${floor}`;
    return [{ benchmark, what, against, fault }];
  });
}

/** Sets the measured floors of the rows that ran. Those of the other rows stay. */
export function setFloors({ rows }: Report): void {
  const { claims, measured } = readFloors();
  const byBenchmark = { ...measured };
  for (const row of rows) {
    const figures = Object.entries(readFigures(row)).map(([name, { low, median }]): [string, number] => [
      name,
      name === GROWTH ? roundUp(median + MARGIN) : roundDown(low * (1 - MARGIN)),
    ]);
    byBenchmark[row.benchmark] = { ...byBenchmark[row.benchmark], [row.what]: Object.fromEntries<number>(figures) };
  }
  writeFileSync(FILE, `${JSON.stringify({ claims, measured: byBenchmark }, undefined, 2)}\n`);
}

interface Figure {
  readonly median: number;
  /** Lower quartile of the rounds. */
  readonly low: number;
}

function readFigures({ contestants }: ReportedRow): { readonly [name: string]: Figure } {
  const figures: { [name: string]: Figure } = {};
  for (const { name, ratio, exponent } of contestants)
    if (ratio !== undefined) figures[name] = { median: ratio.median, low: ratio.quartiles[0] };
    else if (exponent !== undefined) figures[GROWTH] = { median: exponent, low: exponent };
  return figures;
}

/** To two digits. */
const roundDown = (value: number): number => {
  const unit = 10 ** (Math.floor(Math.log10(value)) - 1);
  return Number((Math.floor(value / unit) * unit).toPrecision(2));
};
const roundUp = (value: number): number => Math.ceil(value * 20) / 20;
