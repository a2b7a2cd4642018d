/**
 * A test of a threat: like `it`, and it tells the table (`scripts/threat-table.ts`) which threat it is about, how many
 * attempts it made, and how many came through. One that fails otherwise counts as come through.
 */
import { it } from "vitest";
import type { Threat } from "./threats.ts";

declare module "vitest" {
  interface TaskMeta {
    threat?: string;
    tried?: number;
    through?: number;
  }
}

export interface Attempts {
  /** One attempt. Where `hold` throws it came through; the others are made all the same, and the test fails in the end. */
  attempt(name: string, hold: () => unknown): Promise<void>;
  /** So many more were made by other means, a property say, and held. */
  count(attempts: number): void;
}

/** How many of the attempts that came through are described. */
const MAX_DESCRIBED = 20;

/** A test that counts no attempt is one itself. */
export function itHolds(
  threat: Threat,
  name: string,
  test: (attempts: Attempts) => unknown,
  options: { readonly timeout?: number } = {},
): void {
  it(name, { ...options, meta: { threat } }, async ({ task: { meta } }) => {
    let tried = 0;
    const failures: unknown[] = [];
    const tell = (): void => void Object.assign(meta, { tried: Math.max(tried, 1), through: failures.length });
    tell();
    const count = (attempts: number): void => {
      tried += attempts;
      tell();
    };
    await test({
      count,
      async attempt(what, hold) {
        count(1);
        try {
          await hold();
        } catch (error) {
          failures.push(new Error(`${what}: ${error instanceof Error ? error.message : String(error)}`));
          tell();
        }
      },
    });
    if (failures.length > 0)
      throw new AggregateError(
        failures,
        `${failures.length} of ${tried} attempts came through\n${failures.slice(0, MAX_DESCRIBED).map(String).join("\n")}`,
      );
  });
}
