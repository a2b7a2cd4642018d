/**
 * Compares ours here with ours at another commit: a worktree of that commit, interleaved with this checkout. Both run
 * their own benchmarks, so a row exists for both if it has the same name.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BENCHMARKS, OURS, type Row } from "./benchmark.ts";
import { race } from "./race.ts";
import { formatRatio } from "./report.ts";
import { compareRounds, type Spread } from "./statistics.ts";

const ROOT = join(import.meta.dirname, "..");
const FULL = { rounds: 15, warmUpMs: 1500 };
const QUICK = { rounds: 10, warmUpMs: 500 };
/** A loss beyond this share of the time and beyond the spread of the rounds counts, if it is measured twice. */
const TOLERANCE = 0.05;

const git = (...args: readonly string[]): string => execFileSync("git", args, { cwd: ROOT, encoding: "utf8" }).trim();

/** Prints a line for each row. Returns whether nothing became slower. */
export async function compareWithCommit(commit: string, names: readonly string[], isQuick: boolean): Promise<boolean> {
  const other = mkdtempSync(join(tmpdir(), "loom-bench-against-"));
  git("worktree", "add", "--quiet", "--detach", "--force", other, commit);
  // Also if a signal ends this process.
  const remove = (): unknown => git("worktree", "remove", "--force", other);
  process.once("exit", remove);
  try {
    for (const folder of ["node_modules", join("bench", "node_modules")])
      if (existsSync(join(ROOT, folder))) symlinkSync(join(ROOT, folder), join(other, folder));
    if (!existsSync(join(other, "bench", "contestant.ts")))
      throw new Error(`The benchmarks of ${commit} cannot be compared: they have no contestant.ts.`);
    // The benchmark of starts runs the built package.
    if (names.includes("start")) execFileSync(process.execPath, ["scripts/build.ts"], { cwd: other, stdio: "ignore" });
    let isGood = true;
    for (const name of names) isGood = (await compareBenchmark(name, commit, join(other, "bench"), isQuick)) && isGood;
    return isGood;
  } finally {
    process.off("exit", remove);
    remove();
  }
}

async function compareBenchmark(name: string, commit: string, folder: string, isQuick: boolean): Promise<boolean> {
  let isGood = true;
  const rows = (await BENCHMARKS[name]?.())?.benchmark.rows ?? [];
  for (const row of rows.filter(({ isSlow = false }) => !isSlow || !isQuick))
    try {
      isGood = (await compareRow(name, row, commit, folder, isQuick)) && isGood;
    } catch (error) {
      // The other commit has no such row, or it works differently there.
      const [reason] = (error instanceof Error ? error.message : String(error)).split("\n");
      process.stdout.write(`none  ${name}, ${row.what}: ${reason}\n`);
    }
  return isGood;
}

async function compareRow(name: string, row: Row, commit: string, folder: string, isQuick: boolean): Promise<boolean> {
  const entrants = [
    { name: OURS, label: "here", folder: import.meta.dirname },
    { name: OURS, label: commit, folder },
  ];
  const options = isQuick ? QUICK : FULL;
  const measure = async (): Promise<Spread> => {
    const results = await race(name, { ...row, sizes: [Math.max(...row.sizes)] }, entrants, options);
    return compareRounds(results.get("here")?.rounds ?? [], results.get(commit)?.rounds ?? []);
  };
  const isLoss = ({ median, quartiles }: Spread): boolean => median > 1 + TOLERANCE && quartiles[0] > 1;
  let ratio = await measure();
  // A process can be slower as a whole, such as by the layout of its memory. New processes show whether the code is.
  if (isLoss(ratio)) ratio = await measure();
  process.stdout.write(`${isLoss(ratio) ? "LOSS" : "ok  "}  ${name}, ${row.what}: ${formatRatio(ratio)}\n`);
  return !isLoss(ratio);
}
