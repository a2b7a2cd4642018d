/**
 * Seals: checksums of rows. SQLite has none, so it would not notice a bit that changed on disk, and would return wrong
 * values.
 */
import { crc32 } from "node:zlib";
import { LoomError } from "../protocol/loom-error.ts";

export type Sealed = readonly (string | number | null)[];

export function sealOf(values: Sealed): number {
  return crc32(JSON.stringify(values));
}

/** Throws `store_corrupt` unless the seal matches the values. `what` names the row in the message. */
export function assertSeal(seal: unknown, values: Sealed, what: string): void {
  if (seal !== sealOf(values)) throw new LoomError("store_corrupt", `The stored data of ${what} is damaged`);
}
