/** The tests that every log implementation must pass. */
import { afterAll, describe } from "vitest";
import { LONG } from "../../test/sampling.ts";
import { describeActivity } from "./log-activity.contract.ts";
import { describeAppending } from "./log-append.contract.ts";
import { describeCheckpoints } from "./log-checkpoints.contract.ts";
import { describeCommands } from "./log-commands.contract.ts";
import { describeForks } from "./log-fork.contract.ts";
import { describeRejections } from "./log-rejections.contract.ts";
import { describeIndexes } from "./log-index.contract.ts";
import { describeLeases } from "./log-leases.contract.ts";
import { describeLineage } from "./log-lineage.contract.ts";
import { describeQuotas } from "./log-quota.contract.ts";
import { describeReading } from "./log-read.contract.ts";
import { describeRetention } from "./log-retention.contract.ts";
import { describeSearch } from "./log-search.contract.ts";
import { describeSessions } from "./log-sessions.contract.ts";
import { describeSnapshots } from "./log-snapshots.contract.ts";
import { closeSharedLog, type LogStore } from "./log-fixture.contract.ts";
import { describeWalk } from "./log-walk.contract.ts";

export interface LogSuiteOptions {
  /** Number of random walks against the model. Default: 50, and 10,000 in the long run. */
  readonly numRuns?: number;
}

export function describeLog(
  name: string,
  store: LogStore,
  { numRuns = LONG ? 10_000 : 50 }: LogSuiteOptions = {},
): void {
  describe(`${name} log`, () => {
    afterAll(() => closeSharedLog(store));
    describeAppending(store);
    describeReading(store);
    describeLeases(store);
    describeSessions(store);
    describeSearch(store);
    describeIndexes(store);
    describeActivity(store);
    describeSnapshots(store);
    describeCommands(store);
    describeRetention(store);
    describeCheckpoints(store);
    describeForks(store);
    describeLineage(store);
    describeQuotas(store);
    describeRejections(store);
    describeWalk(store, numRuns);
  });
}
