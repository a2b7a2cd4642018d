import { expect, onTestFinished, test, vi } from "vitest";
import { createLog } from "../../test/contracts/sender.ts";
import { LoomError } from "../protocol/index.ts";
import { LeaseKeeper } from "./lease-keeper.ts";
import { openSession } from "./session.ts";

test("held sessions without work only renew their leases, together, and check once per lease for commands", async () => {
  const [ttlMs, count] = [600, 40];
  const calls: { readonly name: string; readonly at: number }[] = [];
  const log = new Proxy(await createLog(), {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...given: readonly unknown[]): unknown => {
        calls.push({ name: String(name), at: performance.now() });
        return Reflect.apply(value, target, given);
      };
    },
  });
  const sessions = [];
  for (let i = 0; i < count; i++) {
    sessions.push(await openSession(log, `s${i}`, { ttlMs, inboxMs: 1 }));
    await new Promise((resolve) => setTimeout(resolve, 3));
  }
  calls.length = 0;
  await new Promise((resolve) => setTimeout(resolve, ttlMs));
  expect(calls.filter(({ name }) => name !== "renew" && name !== "listPending")).toEqual([]);
  // Each session is renewed three times per lease; a pause separates the renewals that are made together.
  const times = calls.filter(({ name }) => name === "renew").map(({ at }) => at);
  const together = times.filter((at, index) => index === 0 || at - (times[index - 1] ?? 0) > 5).length;
  expect(times.length).toBeGreaterThanOrEqual(count * 2);
  expect(calls.length - times.length).toBeLessThanOrEqual(times.length / 2);
  expect(together).toBeLessThanOrEqual(count / 2);
  await Promise.all(sessions.map((session) => session.close()));
});

test("a failed check after a renewal does not mean that the lease is lost", async () => {
  const log = await createLog();
  const lease = await log.acquire("s", { ttlMs: 60, holder: "h" });
  const listeners = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection");
  onTestFinished(() => {
    process.removeAllListeners("unhandledRejection");
    for (const listener of listeners) process.on("unhandledRejection", listener);
  });
  const failure = new LoomError("fenced", "Another session");
  const seen = new Promise((resolve) => process.once("unhandledRejection", resolve));
  const lost = vi.fn();
  const keeper = new LeaseKeeper(log, lease, {
    ttlMs: 60,
    onLost: lost,
    onRenewed: () => {
      keeper.stop();
      throw failure;
    },
  });
  expect([await seen, lost.mock.calls]).toEqual([failure, []]);
});
