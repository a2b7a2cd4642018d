/** Memory does not grow with the stream, whatever is left open in it. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { SAMPLES } from "./sampling.ts";

test("endless streams in which nothing ends are read, checked and written in a heap of 112 MB", async () => {
  const child = join(import.meta.dirname, "bounded-child.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [
    "--max-old-space-size=112",
    child,
    String(SAMPLES.openThings),
  ]);
  expect(stdout).toBe("done\n");
}, 1_200_000);
