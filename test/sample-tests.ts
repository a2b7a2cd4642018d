/** For cases that have several implementations or clients: half of the tests of each group, and all in the long run. */
import { beforeEach } from "vitest";
import { sampleCases } from "./sampling.ts";

/** Skips the other tests of the group it is called in. Call it before the hooks of the tests. */
export function sampleTests(): void {
  beforeEach(({ task, skip }) => {
    const { tasks = [] } = task.suite ?? {};
    skip(!sampleCases(tasks, { perKind: Math.ceil(tasks.length / 2) }).includes(task), "only in the long run");
  });
}
