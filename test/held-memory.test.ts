/** The memory limits of followed sessions count what is really held, within a factor of 2. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { nodeArgs } from "./bundle-source.ts";
import { LONG, sampleCases } from "./sampling.ts";

const SESSIONS = 10;
const MAX_SESSION_BYTES = 256 * 1024;
/** What the process itself allocates meanwhile: compiled code, statements, buffers in use. */
const NOISE_BYTES = 3 * 1024 * 1024;

test.runIf(LONG).each(sampleCases([0, 1, 2, 3, 4], { perKind: 2 }))(
  "what followed sessions hold is counted (case %i)",
  { timeout: 240_000 },
  async (number) => {
    const child = join(import.meta.dirname, "held-memory-child.ts");
    const args = ["--expose-gc", ...nodeArgs(), child, String(SESSIONS), String(number)];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    const { counted, real } = JSON.parse(stdout) as { readonly counted: number; readonly real: number };
    expect(counted, stdout).toBeLessThanOrEqual(SESSIONS * MAX_SESSION_BYTES);
    expect(counted, stdout).toBeGreaterThan((SESSIONS * MAX_SESSION_BYTES) / 4);
    expect(real, stdout).toBeLessThanOrEqual(2 * counted + NOISE_BYTES);
  },
);
