/** The rows of a store on one connection, by what they are of. */
import type { DatabaseSync } from "node:sqlite";
import { CarriedRows } from "./carried-rows.ts";
import { LandmarkRows } from "./landmark-rows.ts";
import { Records } from "./records.ts";
import { CommandRows, RunRows } from "./run-rows.ts";
import { SearchIndex } from "./search-index.ts";
import { SessionRows } from "./session-rows.ts";
import { SnapshotRows } from "./snapshot-rows.ts";

export type StoreRows = ReturnType<typeof prepareRows>;

export function prepareRows(db: DatabaseSync) {
  return {
    sessions: new SessionRows(db),
    records: new Records(db),
    carried: new CarriedRows(db),
    runs: new RunRows(db),
    landmarks: new LandmarkRows(db),
    commands: new CommandRows(db),
    searchIndex: new SearchIndex(db),
    snapshots: new SnapshotRows(db),
  };
}
