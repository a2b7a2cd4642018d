/** Memory use does not grow with the length of a stream, even if nothing in it ends. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { nodeArgs } from "./bundle-source.ts";
import { BOUNDED_SAMPLES } from "./sampling.ts";

const { frames, heapMb } = BOUNDED_SAMPLES;

test(`reads, checks and encodes endless streams of unended things in a heap of ${heapMb} MB`, async () => {
  const child = join(import.meta.dirname, "bounded-child.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [
    `--max-old-space-size=${heapMb}`,
    ...nodeArgs(),
    child,
    String(frames),
  ]);
  expect(stdout).toBe("done\n");
}, 1_200_000);
