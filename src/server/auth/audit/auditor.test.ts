import { readFileSync } from "node:fs";
import { describe, expect, it, vi } from "vitest";
import { AUDIT_ACTIONS, type AuditedAction, type AuditEntry, createAuditor } from "./auditor.ts";

const refusal = (address: string, credential = "unknown"): AuditedAction => ({
  action: "credential.refuse",
  source: { actor: "anonymous", address },
  target: { credential },
});

function createFixture() {
  vi.useFakeTimers({ now: 0 });
  const entries: AuditEntry[] = [];
  const onError = vi.fn<(error: Error) => void>();
  const auditor = createAuditor({ audit: (entry) => void entries.push(entry), onError });
  return { auditor, entries, onError, [Symbol.dispose]: () => void vi.useRealTimers() };
}

describe("repeated refusals", () => {
  it("are summed up in one line per minute, kind and address", async () => {
    using fixture = createFixture();
    const { auditor, entries } = fixture;
    for (let at = 0; at < 1000; at++) auditor.record(refusal("192.0.2.1", `token:${at}`), "unauthorized");
    for (let at = 0; at < 10; at++) auditor.record(refusal(`2001:db8:0:1::${at}`), "unauthorized");
    expect(entries.map(({ address }) => address)).toEqual(["192.0.2.1", "2001:db8:0:1::0"]);
    await vi.advanceTimersByTimeAsync(60_000);
    const about = { action: "credential.refuse", outcome: "unauthorized", actor: "anonymous" };
    const when = { time: "1970-01-01T00:01:00.000Z", since: "1970-01-01T00:00:00.000Z" };
    expect(entries.slice(2)).toEqual([
      { ...about, ...when, address: "192.0.2.1", count: 999 },
      { ...about, ...when, address: "2001:db8:0:1::0", count: 9 },
    ]);
    auditor.record(refusal("192.0.2.1"), "unauthorized");
    expect(entries).toHaveLength(5);
    // Nothing was repeated, so nothing more is written.
    await auditor.close();
    expect(entries).toHaveLength(5);
  });

  it("of many addresses share a line", async () => {
    using fixture = createFixture();
    const { auditor, entries } = fixture;
    for (let at = 0; at < 5000; at++) auditor.record(refusal(`198.51.${at >> 8}.${at & 255}`), "unauthorized");
    expect(entries).toHaveLength(100);
    await auditor.close();
    expect(entries.slice(100)).toMatchObject([{ actor: "several", count: 4900 }]);
    expect(entries[100]).not.toHaveProperty("address");
  });

  it("are not mixed with actions that were executed", async () => {
    using fixture = createFixture();
    const { auditor, entries } = fixture;
    const about = { action: "session.delete", source: { actor: "local" }, target: { session: "s" } } as const;
    for (let at = 0; at < 3; at++) await auditor.run(about, () => at);
    expect(entries.map(({ outcome }) => outcome)).toEqual(["done", "done", "done"]);
  });
});

describe("an audit function that fails", () => {
  it("is reported once a minute with the number of lost entries", async () => {
    vi.useFakeTimers({ now: 0 });
    const [onError, onFailure] = [vi.fn<(error: Error) => void>(), vi.fn<() => void>()];
    const audit = (): Promise<void> => Promise.reject(new Error("disk full"));
    const auditor = createAuditor({ audit, onError, onFailure });
    const about = { action: "session.delete", source: { actor: "local" } } as const;
    for (let at = 0; at < 5; at++) await auditor.run(about, () => at);
    await vi.advanceTimersByTimeAsync(60_000);
    await auditor.run(about, () => 5);
    await vi.advanceTimersByTimeAsync(0);
    vi.useRealTimers();
    expect(onFailure).toHaveBeenCalledTimes(6);
    expect(onError.mock.calls).toMatchObject([[{ details: { lost_entries: 1 } }], [{ details: { lost_entries: 5 } }]]);
  });

  it("does not collect entries without limit if it hangs", async () => {
    vi.useFakeTimers({ now: 0 });
    const onFailure = vi.fn<() => void>();
    const never = Promise.withResolvers<void>();
    const auditor = createAuditor({ audit: () => never.promise, onError: () => undefined, onFailure });
    const about = { action: "session.delete", source: { actor: "local" } } as const;
    for (let at = 0; at < 1005; at++) await auditor.run(about, () => at);
    expect(onFailure).toHaveBeenCalledTimes(5);
    const closed = auditor.close();
    await vi.advanceTimersByTimeAsync(5000);
    vi.useRealTimers();
    await closed;
  });
});

it("documents every action", () => {
  const guide = readFileSync(new URL("../../../../docs/operations/audit-log.md", import.meta.url), "utf8");
  const listed = [...guide.matchAll(/^\| `(?<action>\w+[._]\w+)` +\|/gm)].map(({ groups }) => groups?.["action"]);
  expect(listed).toEqual(expect.arrayContaining(Object.keys(AUDIT_ACTIONS)) as unknown);
});
