/**
 * The order of test files. Vitest sorts by the durations of the last run, or by size if there was none. Short files that
 * take long, above all in the long run, would then run last and alone, so they come first in their project. The files of
 * a project stay together, because each change of the project starts new threads.
 */
import { BaseSequencer, type TestSpecification } from "vitest/node";

const SLOW: readonly string[] = [
  "src/log/stream.test.ts",
  "src/log/sqlite/sqlite-log.test.ts",
  "src/log/postgres/postgres-log.test.ts",
  "test/adapters/foreign-kill.test.ts",
  "test/bounded.test.ts",
  "test/client/cuts.test.ts",
  "test/client/faults.test.ts",
  "test/cluster/cluster.test.ts",
  "test/cluster/dead-holder.test.ts",
  "test/cluster/many-runs.test.ts",
  "test/package.test.ts",
  "test/page/resilience.test.ts",
  "test/server/shared-database.test.ts",
  "test/visual/visual.test.ts",
  "test/durability/damage.test.ts",
  "test/page/xss.test.ts",
  "test/dialect-pairs.test.ts",
  "test/durability/kill.test.ts",
  "test/durability/processes.test.ts",
];

export class SlowFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isSlow = ({ moduleId }: TestSpecification): boolean => SLOW.some((path) => moduleId.endsWith(`/${path}`));
    const slowFirst = sorted.toSorted((a, b) => Number(isSlow(b)) - Number(isSlow(a)));
    const projects = Map.groupBy(slowFirst, ({ project }) => project.name);
    // The largest project has the slow files, and comes last: its threads stay busy to the end.
    return [...projects.values()].toSorted((a, b) => a.length - b.length).flat();
  }
}
