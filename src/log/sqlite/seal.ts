/**
 * Checksums of rows. SQLite has none: it would not notice a bit that changed on disk, and would serve what it finds.
 */
import { crc32 } from "node:zlib";
import { LoomError } from "../../protocol/loom-error.ts";

export type Sealed = readonly (string | number | null)[];

export function sealOf(values: Sealed): number {
  return crc32(JSON.stringify(values));
}

/** Throws `store_corrupt` unless the values are those that were sealed. */
export function assertSeal(seal: unknown, values: Sealed, what: string): void {
  if (seal !== sealOf(values)) throw new LoomError("store_corrupt", `what the store says of ${what} is damaged`);
}
