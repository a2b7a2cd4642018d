import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readVector, VECTORS } from "../vectors.ts";
import { GOLDEN_RUNS, playGoldenRun } from "./golden-runs.ts";

describe("golden runs of agents", () => {
  it.each(GOLDEN_RUNS)("$name equals its vector and is valid", async (golden) => {
    const { name, frames } = await playGoldenRun(golden);
    const vector = readVector(join(VECTORS, "runs", `${name}.json`));
    expect(frames).toEqual(vector.frames);
    expect(vector.issues).toEqual([]);
  });
});
