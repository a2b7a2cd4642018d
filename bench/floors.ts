/**
 * The floors of `floors.json`: how many times the processor time of ours another contestant needs at least, and which
 * sentence of README or docs claims it. A ratio below its floor is a miss, and so is a floor without a result.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Report } from "./report.ts";

export interface Floor {
  readonly benchmark: string;
  readonly row: string;
  /** Another contestant, or `growth`: then the exponent is at most `most`. */
  readonly against: string;
  readonly least?: number;
  readonly most?: number;
  /** File and text that claim it. */
  readonly claim?: string;
}

export const FLOORS = JSON.parse(readFileSync(join(import.meta.dirname, "floors.json"), "utf8")) as readonly Floor[];

/** Returns a line for each miss among the benchmarks that ran. */
export function findMisses({ rows }: Report): readonly string[] {
  const ran = new Set(rows.map(({ benchmark }) => benchmark));
  return FLOORS.filter(({ benchmark }) => ran.has(benchmark)).flatMap((floor) => {
    const { benchmark, row: what, against, least, most } = floor;
    const found = rows.find((row) => row.benchmark === benchmark && row.what === what);
    const figure =
      against === "growth"
        ? found?.contestants[0]?.exponent
        : found?.contestants.find(({ name }) => name === against)?.ratio?.median;
    const name = `${benchmark}, ${what}, ${against}`;
    if (figure === undefined) return [`MISS  ${name}: not measured`];
    if (least !== undefined && figure < least) return [`MISS  ${name}: ${figure.toFixed(2)}, at least ${least}`];
    if (most !== undefined && figure > most) return [`MISS  ${name}: ${figure.toFixed(2)}, at most ${most}`];
    return [];
  });
}
