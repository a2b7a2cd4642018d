/**
 * What every log owes, wherever it keeps its records. A new log calls this and nothing more to be held to it.
 */
import { describe } from "vitest";
import { describeAppending } from "./log-append.contract.ts";
import { describeCommands } from "./log-commands.contract.ts";
import { describeForks } from "./log-fork.contract.ts";
import { describeIndexes } from "./log-index.contract.ts";
import { describeLeases } from "./log-leases.contract.ts";
import { describeReading } from "./log-read.contract.ts";
import { describeRetention } from "./log-retention.contract.ts";
import { describeSearch } from "./log-search.contract.ts";
import { describeSessions } from "./log-sessions.contract.ts";
import type { LogStore } from "./log-trial.contract.ts";
import { describeWalk } from "./log-walk.contract.ts";

export interface LogSuiteOptions {
  /** Random walks against the model; twenty times as many in the long run. */
  readonly numRuns?: number;
}

export function describeLog(name: string, store: LogStore, { numRuns = 500 }: LogSuiteOptions = {}): void {
  describe(`${name}: the contract of a log`, () => {
    describeAppending(store);
    describeReading(store);
    describeLeases(store);
    describeSessions(store);
    describeSearch(store);
    describeIndexes(store);
    describeCommands(store);
    describeRetention(store);
    describeForks(store);
    describeWalk(store, process.env["LOOM_LONG"] === "1" ? 20 * numRuns : numRuns);
  });
}
