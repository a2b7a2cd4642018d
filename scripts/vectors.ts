/**
 * Writes what the code makes of every vector's frames into the vector. The diff is the review: a golden value changes
 * only because somebody meant it to.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { computeVector, listVectorFiles, readVector, writeVector } from "../test/vectors.ts";

let written = 0;
for (const file of [...listVectorFiles("samples"), ...listVectorFiles("runs")]) {
  const text = writeVector(computeVector(readVector(file)));
  if (readFileSync(file, "utf8") === text) continue;
  writeFileSync(file, text);
  written++;
}
console.log(`${written} vectors written`);
