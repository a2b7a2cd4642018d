import { setImmediate } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import type { Command } from "../../../log/log.ts";
import type { StampedRecord } from "../../../protocol/index.ts";
import type { TokenInfo } from "../credentials/credentials.ts";
import { LOCAL, ANONYMOUS, type Principal } from "../principal.ts";
import { createSpend, type SpendOptions } from "./spend.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const token = (id: string, tokensPerDay?: number): Principal => ({
  ...ANONYMOUS,
  kind: "token",
  id: `token:${id}`,
  limits: tokensPerDay === undefined ? {} : { tokensPerDay },
});

function createFixture(
  options: Pick<SpendOptions, "tokensPerDay" | "maxUnrecordedMs"> = {},
  tokens: readonly Partial<TokenInfo>[] = [],
) {
  const spent = new Map<string, number>();
  const clock = { now: 10 * DAY_MS + 1000 };
  const submitted: Command[] = [];
  const keyOf = (id: string, now = 0): string => `${id} ${Math.floor(now / DAY_MS)}`;
  const state = { isFull: false, isReadOnly: false, isUnreadable: false, delay: Promise.resolve() };
  const credentials: SpendOptions["credentials"] = {
    async addSpent(id, count, now) {
      await state.delay;
      if (state.isReadOnly) throw new Error("read-only");
      const total = (spent.get(keyOf(id, now)) ?? 0) + count;
      spent.set(keyOf(id, now), total);
      return total;
    },
    async readSpent(id, now) {
      if (state.isUnreadable) throw new Error("unreadable");
      return spent.get(keyOf(id, now)) ?? 0;
    },
    listTokens: async () => tokens as readonly TokenInfo[],
  };
  const submit = async (command: Command): Promise<void> => {
    if (state.isFull) throw new Error("full");
    submitted.push(command);
  };
  const log = { submit } as unknown as SpendOptions["log"];
  const errors: unknown[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  const make = () => createSpend({ ...options, credentials, log, now: () => clock.now, onError });
  const spend = make();
  const startRun = (actor: string | undefined, run = "r") => {
    const observed = spend.observer.openRun({ sessionId: "s", runId: run });
    const take = (event: object, isPast = false): void => observed.take({ event } as unknown as StampedRecord, isPast);
    take({ type: "run_start", actor });
    /** Resolves when the usage was handled. */
    const use = async (prompt_tokens: number, completion_tokens: number, isPast = false): Promise<void> => {
      take({ type: "usage", prompt_tokens, completion_tokens, total_tokens: 0 }, isPast);
      await setImmediate();
    };
    return { use };
  };
  const read = (id: string): Promise<number> => credentials.readSpent(id, clock.now);
  return { spend, make, startRun, submitted, state, clock, read, errors };
}

const EXCEEDED: unknown = expect.objectContaining({ code: "spend_exceeded" });

describe("spend limits", () => {
  it("count the usage of each principal once", async () => {
    const { startRun, read, submitted } = createFixture();
    const run = startRun("token:a");
    await run.use(10, 5);
    await run.use(100, 1);
    await run.use(1000, 1000, true);
    await startRun("token:b", "r2").use(7, 0);
    await startRun(undefined, "r3").use(7, 0);
    expect([await read("token:a"), await read("token:b"), submitted]).toEqual([116, 7, []]);
  });

  it("cancel each run above the limit once, with a reason", async () => {
    const reason: unknown = expect.stringContaining("spend_exceeded: Daily limit of 100 model tokens");
    const { startRun, submitted } = createFixture({ tokensPerDay: 100 });
    const [one, two] = [startRun("jwt:ann", "one"), startRun("jwt:ann", "two")];
    await one.use(50, 50);
    expect(submitted).toEqual([]);
    await one.use(1, 0);
    await one.use(1, 0);
    await two.use(1, 0);
    expect(submitted.map(({ kind, sessionId, body }) => [kind, sessionId, body])).toEqual(
      ["one", "two"].map((run_id) => ["cancel", "s", { run_id, reason }]),
    );
    expect(new Set(submitted.map(({ commandId }) => commandId)).size).toBe(2);
  });

  it("retry a failed cancellation after the next model call", async () => {
    const { startRun, submitted, state } = createFixture({ tokensPerDay: 100 });
    const run = startRun("token:a");
    state.isFull = true;
    await run.use(101, 0);
    state.isFull = false;
    await run.use(1, 0);
    await run.use(1, 0);
    expect(submitted).toHaveLength(1);
  });

  it("count tokens that were used outside of a run", async () => {
    const { spend, read } = createFixture({ tokensPerDay: 100 });
    spend.count("token:a", 60);
    spend.count("token:a", 0);
    spend.count("token:a", 41);
    await expect(spend.admit(token("a"))).rejects.toMatchObject({ code: "spend_exceeded" });
    expect(await read("token:a")).toBe(101);
  });

  it("use the limit of a token that was not seen since the start", async () => {
    const { startRun, submitted } = createFixture({ tokensPerDay: 1000 }, [
      { tokenId: "a", limits: { tokensPerDay: 5 } },
    ]);
    await startRun("token:a").use(6, 0);
    await startRun("token:b").use(6, 0);
    expect(submitted).toHaveLength(1);
  });

  it("reject new runs for the rest of the UTC day", async () => {
    const { startRun, spend, make, clock } = createFixture({ tokensPerDay: 100 });
    await spend.admit(token("a"));
    await startRun("token:a").use(100, 0);
    for (const one of [spend, make()]) await expect(one.admit(token("a"))).rejects.toThrow(EXCEEDED);
    await expect(spend.admit(token("a"))).rejects.toThrow(
      expect.objectContaining({ details: { limit: 100, retry_after_ms: DAY_MS - 1000 } }),
    );
    await spend.admit(token("a", 101));
    await spend.admit(token("b"));
    await spend.admit(LOCAL);
    clock.now += DAY_MS - 1000;
    await spend.admit(token("a"));
  });

  it("stop further runs of a principal whose usage cannot be recorded, until it is", async () => {
    const { startRun, spend, state, read, clock, errors } = createFixture({ maxUnrecordedMs: 1 });
    const { signal } = new AbortController();
    const run = startRun("token:a");
    await run.use(1, 0);
    state.isReadOnly = true;
    await run.use(10, 0);
    clock.now += DAY_MS;
    await run.use(5, 0);
    expect(errors).toHaveLength(2);
    const unrecorded: unknown = expect.objectContaining({
      code: "spend_unrecorded",
      details: { retry_after_ms: 5000 },
    });
    await expect(spend.admit(token("a"))).rejects.toThrow(unrecorded);
    await expect(spend.waitUntilRecorded("token:a", signal)).rejects.toEqual(unrecorded);
    await spend.admit(token("b"));
    await spend.waitUntilRecorded("token:b", signal);
    state.isReadOnly = false;
    await spend.admit(token("a"));
    await spend.admit(token("a"));
    // Each call counts once, on its own day.
    expect(await read("token:a")).toBe(5);
    clock.now -= DAY_MS;
    expect(await read("token:a")).toBe(11);
  });

  it("make an accepted run wait until the usage is recorded, or until it is cancelled", async () => {
    const { startRun, spend, state, read, errors } = createFixture();
    state.isReadOnly = true;
    await startRun("token:a").use(10, 0);
    const cancelled = new AbortController();
    const waiting = spend.waitUntilRecorded("token:a", new AbortController().signal);
    const aborted = spend.waitUntilRecorded("token:a", cancelled.signal);
    cancelled.abort();
    await expect(aborted).rejects.toMatchObject({ name: "AbortError" });
    state.isReadOnly = false;
    await waiting;
    expect([await read("token:a"), errors]).toEqual([10, [expect.any(Error)]]);
  });

  it("record the usage later without another request", async () => {
    const { startRun, state, read, errors } = createFixture();
    state.isReadOnly = true;
    await startRun("token:a").use(10, 0);
    await startRun("token:b").use(3, 0);
    state.isReadOnly = false;
    await vi.waitFor(async () => expect([await read("token:a"), await read("token:b")]).toEqual([10, 3]), 20_000);
    expect(errors).toHaveLength(2);
  });

  it("count each call once while the store is slow", async () => {
    const { startRun, state, spend, read, submitted } = createFixture({ tokensPerDay: 100 });
    const slow = Promise.withResolvers<void>();
    state.delay = slow.promise;
    const [one, two] = [startRun("token:a", "one"), startRun("token:a", "two")];
    for (const run of [one, two, one, two, one]) await run.use(20, 0);
    const waiting = spend.admit(token("a"));
    await setImmediate();
    slow.resolve();
    await expect(waiting).rejects.toThrow(EXCEEDED);
    expect([await read("token:a"), submitted]).toEqual([100, []]);
    await two.use(1, 0);
    expect(submitted.map(({ body }) => body["run_id"])).toEqual(["two"]);
  });

  it("count usage that is not recorded, and record it at the end", async () => {
    const { startRun, spend, make, state, submitted, read } = createFixture({ tokensPerDay: 100 });
    state.isReadOnly = true;
    const run = startRun("token:a");
    await run.use(60, 0);
    expect(submitted).toEqual([]);
    await run.use(60, 0);
    expect(submitted.map(({ body }) => body)).toEqual([
      { run_id: "r", reason: expect.stringMatching(/^spend_exceeded: /) as string },
    ]);
    state.isReadOnly = false;
    await spend.close();
    expect(await read("token:a")).toBe(120);
    await expect(make().admit(token("a"))).rejects.toThrow(EXCEEDED);
  });

  it("cancel a live run when the usage of its principal cannot be read", async () => {
    const { startRun, state, submitted } = createFixture({ tokensPerDay: 100 });
    const run = startRun("token:a");
    Object.assign(state, { isReadOnly: true, isUnreadable: true });
    await run.use(1, 0);
    await run.use(1, 0);
    expect(submitted.map(({ body }) => body)).toEqual([
      { run_id: "r", reason: expect.stringMatching(/^spend_unrecorded: /) as string },
    ]);
  });

  it("ignore other event types", () => {
    const { observer } = createFixture().spend;
    expect(["message_chunk", "usage", "run_start"].map((type) => observer.ignores?.has(type))).toEqual([
      true,
      false,
      false,
    ]);
  });
});
