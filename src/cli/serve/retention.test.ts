// Retention: pruning intervals, log messages, failures and disposal.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { RetentionPolicy } from "../../log/index.ts";
import { startRetention } from "./retention.ts";

describe("startRetention", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("prunes soon after the start, then at the interval, also after a failure, until it is disposed", async () => {
    const asked: RetentionPolicy[] = [];
    const lines: string[] = [];
    const write = (_fields: object, message: string): void => void lines.push(message);
    const log = {
      async prune(policy: RetentionPolicy) {
        asked.push(policy);
        if (asked.length === 2) throw new Error("the disk is full");
        return { runs: 3 - asked.length, records: 0, bytes: 0 };
      },
    };
    const settings = { "retention-age": 5000, "retention-bytes": undefined, "retention-every": 60_000 };
    const retention = startRetention(log, settings, { debug: write, info: write, warn: write, error: write });
    await vi.advanceTimersByTimeAsync(29_000);
    expect(asked).toEqual([]);
    await vi.advanceTimersByTimeAsync(2000);
    expect(asked).toEqual([{ maxAgeMs: 5000 }]);
    await vi.advanceTimersByTimeAsync(120_000);
    expect(asked).toHaveLength(3);
    expect(lines).toEqual(["deleted old runs", "could not delete old runs"]);
    await retention[Symbol.asyncDispose]();
    await vi.advanceTimersByTimeAsync(600_000);
    expect(asked).toHaveLength(3);
  });
});
