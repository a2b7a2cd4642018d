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
/** What another run of the same code may differ by, in addition to the spread of the rounds. */
const MARGIN = 0.1;

const readFloors = (): Floors => JSON.parse(readFileSync(FILE, "utf8")) as Floors;

/** Returns a line for each miss among the benchmarks and rows that ran. */
export function findMisses({ rows }: Report): readonly string[] {
  const { claims, measured } = readFloors();
  const misses: string[] = [];
  for (const { benchmark, row: what, against, least = 0, most = Infinity, says } of claims) {
    if (!rows.some((row) => row.benchmark === benchmark)) continue;
    const row = rows.find((found) => found.benchmark === benchmark && found.what === what);
    // A claim holds for most rounds.
    const figure = row === undefined ? undefined : readFigures(row)[against]?.low;
    const name = `MISS  ${benchmark}, ${what}, ${against}`;
    if (figure === undefined) misses.push(`${name}: not measured`);
    else if (figure < least || figure > most)
      misses.push(`${name}: ${figure.toFixed(2)}, but ${Object.keys(says).join(", ")} claims ${least || most}`);
    for (const [file, text] of Object.entries(says))
      if (!readFileSync(join(ROOT, file), "utf8").includes(text)) misses.push(`MISS  ${file} does not say "${text}"`);
  }
  for (const row of rows)
    for (const [name, floor] of Object.entries(measured[row.benchmark]?.[row.what] ?? {})) {
      const figure = readFigures(row)[name]?.median;
      const isMiss = figure === undefined || (name === GROWTH ? figure > floor : figure < floor);
      const bound = name === GROWTH ? "at most" : "at least";
      if (isMiss) misses.push(`MISS  ${row.benchmark}, ${row.what}, ${name}: ${figure?.toFixed(2)}, ${bound} ${floor}`);
    }
  return misses;
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
