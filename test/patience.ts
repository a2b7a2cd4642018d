/** Gives `vi.waitFor` the same time as `expect.poll`. Its default of 1 s is too short for a busy machine. */
import { vi } from "vitest";

const TIMEOUT_MS = 10_000;

const { waitFor } = vi;

// Files of one thread share this object, and set-up runs for each of them.
if (waitFor.name !== waitPatiently.name) vi.waitFor = waitPatiently;

function waitPatiently<T>(callback: () => T | Promise<T>, options: Parameters<typeof waitFor>[1] = {}): Promise<T> {
  return waitFor(callback, typeof options === "number" ? options : { timeout: TIMEOUT_MS, ...options });
}
