/** The tests that every log implementation must pass. */
import { afterAll, describe } from "vitest";
import { LONG } from "../../sampling.ts";
import { describeActivity } from "./log-activity.ts";
import { describeAppending } from "./log-append.ts";
import { describeCheckpoints } from "./log-checkpoints.ts";
import { describeCommands } from "./log-commands.ts";
import { describeForks } from "./log-fork.ts";
import { describeRejections } from "./log-rejections.ts";
import { describeIndexes } from "./log-index.ts";
import { describeLeases } from "./log-leases.ts";
import { describeLineage } from "./log-lineage.ts";
import { describeQuotas } from "./log-quota.ts";
import { describeReading } from "./log-read.ts";
import { describeRetention } from "./log-retention.ts";
import { describeRunLimit } from "./log-run-limit.ts";
import { describeSearch } from "./log-search.ts";
import { describeSessions } from "./log-sessions.ts";
import { describeSnapshots } from "./log-snapshots.ts";
import { closeSharedLog, type LogStore } from "./log-fixture.ts";
import { describeWalk } from "./log-walk.ts";

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
    describeRunLimit(store);
    describeRetention(store);
    describeCheckpoints(store);
    describeForks(store);
    describeLineage(store);
    describeQuotas(store);
    describeRejections(store);
    describeWalk(store, numRuns);
  });
}
