/**
 * The parts of the peers' interfaces that the benchmarks use. The peers are installed only when a benchmark runs, so
 * types and lint are checked against these declarations, with or without the packages.
 */
declare module "lmdb" {
  interface Database {
    put(key: readonly [number, number], value: string): Promise<boolean>;
    /** Resolves when everything written so far is on disk. */
    readonly flushed: Promise<boolean>;
    close(): Promise<void>;
  }
  export function open(options: { readonly path: string; readonly encoding: "string" }): Database;
}
