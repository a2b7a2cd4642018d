/**
 * A test of a threat. Like `it`, but it also reports to the threat table (`scripts/threat-table.ts`) which threat it
 * tests, how many attacks it tried, and how many succeeded. A test that fails for another reason counts as one attack
 * that succeeded.
 */
import { it } from "vitest";
import { LONG, sampleCases, type SampleOptions } from "../sampling.ts";
import type { Threat } from "./threats.ts";

declare module "vitest" {
  interface TaskMeta {
    threat?: string;
    tried?: number;
    succeeded?: number;
    /** Cases that only the long run tries. */
    omitted?: number;
  }
}

export interface Attempts {
  /**
   * Runs one attack. `check` throws if the attack succeeded; the remaining attacks still run, and the test fails at the
   * end.
   */
  attempt(name: string, check: () => unknown): Promise<void>;
  /** Adds attacks that were tried and blocked outside of `attempt`, for example by a property test. */
  count(attempts: number): void;
  /** Returns the cases that this run tries (`sampleCases`). The table shows that there are more. */
  sample<T>(cases: Iterable<T>, options?: SampleOptions<T>): readonly T[];
}

type ThreatTest = readonly [
  threat: Threat,
  name: string,
  test: (attempts: Attempts) => unknown,
  options?: { readonly timeout?: number },
];

/** Maximum number of successful attacks that the failure message describes. */
const MAX_DESCRIBED = 20;

/** Like `testThreat`, but only the long run has the test. */
export function testSlowThreat(...args: ThreatTest): void {
  addTest(it.runIf(LONG), ...args);
}

/** A test that counts no attempts counts as one. */
export function testThreat(...args: ThreatTest): void {
  addTest(it, ...args);
}

function addTest(add: ReturnType<typeof it.runIf>, ...[threat, name, test, options = {}]: ThreatTest): void {
  add(name, { ...options, meta: { threat } }, async ({ task: { meta } }) => {
    let tried = 0;
    const failures: unknown[] = [];
    const record = (): void => void Object.assign(meta, { tried: Math.max(tried, 1), succeeded: failures.length });
    record();
    const count = (attempts: number): void => {
      tried += attempts;
      record();
    };
    await test({
      count,
      sample(cases, options) {
        const all = [...cases];
        const chosen = sampleCases(all, options);
        meta.omitted = (meta.omitted ?? 0) + all.length - chosen.length;
        return chosen;
      },
      async attempt(what, check) {
        count(1);
        try {
          await check();
        } catch (error) {
          failures.push(new Error(`${what}: ${error instanceof Error ? error.message : String(error)}`));
          record();
        }
      },
    });
    if (failures.length > 0)
      throw new AggregateError(
        failures,
        `${failures.length} of ${tried} attacks succeeded\n${failures.slice(0, MAX_DESCRIBED).map(String).join("\n")}`,
      );
  });
}
