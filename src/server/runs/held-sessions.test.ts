import { expect, onTestFinished, test } from "vitest";
import { openSession } from "../../engine/index.ts";
import { type Log, MemoryLog } from "../../log/index.ts";
import { LoomError } from "../../protocol/index.ts";
import { HeldSessions, type HeldSessionsOptions } from "./held-sessions.ts";
import { OrphanWatch } from "./orphan-watch.ts";
import { until } from "../../../test/contracts/run-dispatcher-fixture.ts";

function hold(log: Log, options: Partial<HeldSessionsOptions> = {}) {
  const ran: string[] = [];
  const held = new HeldSessions({
    log,
    session: {
      onRun: async (run) => {
        ran.push(run.sessionId);
        await run.finish();
      },
    },
    maxSessions: 10,
    maxOpening: 10,
    lingerMs: 10,
    onError: () => undefined,
    ...options,
  });
  onTestFinished(() => held.close(Promise.resolve()));
  return { held, ran };
}

/** A process without agents, which holds the session for a while. */
const openElsewhere = (log: Log, sessionId: string) => openSession(log, sessionId);

const enqueue = (log: Log, sessionId: string) =>
  log.submit({ commandId: `m-${sessionId}`, sessionId, kind: "enqueue", body: { message: "Hi" } });

test("retries of deleted sessions do not use up the limit", async () => {
  const log = new MemoryLog();
  const { held, ran } = hold(log, { maxTracked: 3 });
  for (const name of ["a", "b", "c", "d"]) {
    const other = await openElsewhere(log, name);
    await enqueue(log, name);
    await held.dispatch(name);
    await log.deleteSession(name);
    await other.close().catch(() => undefined);
  }
  const other = await openElsewhere(log, "late");
  await enqueue(log, "late");
  await held.dispatch("late");
  expect(ran).toEqual([]);
  await other.close();
  // Only a retry can find it: there is no sweep.
  await until(() => ran.includes("late"));
});

test("executes every message when more sessions are held elsewhere than are tracked", async () => {
  const log = new MemoryLog();
  const { held, ran } = hold(log, { maxTracked: 2 });
  const names = Array.from({ length: 8 }, (_, index) => `s${index}`);
  const others = [];
  for (const name of names) {
    others.push(await openElsewhere(log, name));
    await enqueue(log, name);
    await held.dispatch(name);
  }
  for (const other of others) await other.close();
  const watch = new OrphanWatch(log, held, { sweepMs: 20, onError: () => undefined });
  onTestFinished(() => watch.stop());
  await watch.start();
  await until(() => ran.length === names.length);
  expect(ran.toSorted()).toEqual(names);
});

test("forgets the failures of a deleted session", async () => {
  const log = new MemoryLog();
  let isFailing = true;
  const failing = new Proxy(log, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      if (name === "acquire" && isFailing) return () => Promise.reject(new LoomError("store_corrupt", "damaged"));
      return value.bind(target) as unknown;
    },
  });
  const { held } = hold(failing);
  await log.createSession("s");
  await held.dispatch("s");
  expect(held.trackedSize).toBe(1);
  isFailing = false;
  await log.deleteSession("s");
  // The pause after a failure is over.
  await until(async () => {
    await held.dispatch("s");
    return held.trackedSize === 0;
  });
});

test("a sweep continues where the last one stopped because the handler was full", async () => {
  const log = new MemoryLog();
  const names = Array.from({ length: 350 }, (_, index) => `s${index}`);
  for (const name of names) {
    await log.createSession(name);
    await enqueue(log, name);
  }
  const requested = new Set<string>();
  let room = 0;
  // A handler that accepts 120 sessions per sweep and cannot open any of them.
  const handler = {
    get isFull() {
      return room <= 0;
    },
    request: (sessionId: string) => {
      if (room-- > 0) requested.add(sessionId);
    },
    whenOpened: async () => undefined,
  };
  const watch = new OrphanWatch(log, handler, { sweepMs: 1, onError: () => undefined });
  onTestFinished(() => watch.stop());
  await watch.start();
  await until(() => {
    if (room <= 0) room = 120;
    return requested.size === names.length;
  });
});

test("finds a session that is released while the first sweep runs", async () => {
  const log = new MemoryLog();
  const other = await openElsewhere(log, "s");
  await enqueue(log, "s");
  const { held, ran } = hold(log);
  let hint: () => void = () => undefined;
  const watchOrphans = (listener: () => void) => {
    hint = listener;
    return () => undefined;
  };
  const hinting = new Proxy(log, {
    get(target, name) {
      if (name === "watchOrphans") return watchOrphans;
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      if (name !== "listOrphans") return value.bind(target) as unknown;
      return async () => {
        const orphans = await log.listOrphans();
        await other.close();
        hint();
        return orphans;
      };
    },
  });
  const watch = new OrphanWatch(hinting, held, { sweepMs: 60_000, onError: () => undefined });
  onTestFinished(() => watch.stop());
  await watch.start();
  await until(() => ran.includes("s"));
});
