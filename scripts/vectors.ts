/**
 * Writes the computed parts of every golden vector (records, encodings), and the views and messages of a receiver. Review
 * the diff: a golden value changes only on purpose.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { GOLDEN_RUNS, playGoldenRun } from "../test/agents/golden-runs.ts";
import { computeVector, listVectorFiles, readVector, VECTORS, writeVector } from "../test/vectors.ts";
import { computeMessages, computeViews, listViews, MESSAGES, writeViews } from "../test/views.ts";

let written = 0;
for (const golden of GOLDEN_RUNS)
  write(join(VECTORS, "runs", `${golden.name}.json`), writeVector(computeVector(await playGoldenRun(golden))));
for (const file of [...listVectorFiles("samples"), ...listVectorFiles("runs")])
  write(file, writeVector(computeVector(readVector(file))));
for (const { file, vector } of listViews()) write(file, writeViews(computeViews(vector)));
write(MESSAGES, computeMessages());
console.log(`${written} files written`);

function write(file: string, text: string): void {
  if (existsSync(file) && readFileSync(file, "utf8") === text) return;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  written++;
}
