import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { LoomError } from "../../../protocol/index.ts";
import type { Identity } from "../authorize.ts";
import { createAccessGrants, type AccessGrantsOptions } from "./access-grants.ts";
import { LOCAL, ANONYMOUS, type Principal } from "../principal.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const token = (id: string, more: Partial<Principal> = {}): Principal => ({
  ...ANONYMOUS,
  kind: "token",
  id: `token:${id}`,
  owner: "ann",
  ...more,
});
const link = (id: string, session: string): Principal => ({
  ...ANONYMOUS,
  kind: "share",
  id: `share:${id}`,
  session: { id: session, incarnation: "i" },
});
const holder = (principal: Principal, ...shares: readonly Principal[]): Identity => ({ principal, shares });

function createFixture(options: Partial<AccessGrantsOptions> = {}) {
  const bad = new Set<string>();
  const checked: string[] = [];
  const read: string[] = [];
  const foreign = new Set<string>();
  const reported: unknown[] = [];
  const grants = createAccessGrants({
    isValid: async ({ id, cookie = "" }) => {
      checked.push(`${id}${cookie}`);
      return !bad.has(id) && !bad.has(cookie);
    },
    mayRead: async ({ principal, shares }, session) => {
      read.push(session);
      return !foreign.has(session) && (principal.kind !== "anonymous" || shares.length > 0);
    },
    onError: (error) => reported.push(error),
    ...options,
  });
  const ended: string[] = [];
  const watch = (who: Identity, session: string | undefined, name: string): (() => void) =>
    grants.watch(who, session, ({ code }) => ended.push(`${name} ${code}`));
  return { grants, bad, checked, read, foreign, ended, reported, watch };
}

describe("access grants", () => {
  it("end once when their credential is revoked", async () => {
    const { grants, bad, ended, watch } = createFixture();
    watch(holder(token("a")), "s", "stream");
    watch(holder(token("a")), undefined, "socket");
    watch(holder(token("b")), "s", "other");
    await vi.advanceTimersByTimeAsync(3000);
    expect(ended).toEqual([]);
    bad.add("token:a");
    await vi.advanceTimersByTimeAsync(2000);
    expect(ended).toEqual(["stream unauthorized", "socket unauthorized"]);
    expect(grants.size).toBe(1);
    await vi.advanceTimersByTimeAsync(5000);
    expect(ended).toHaveLength(2);
  });

  it("end on expiry and on sign-out of their browser", async () => {
    const { bad, ended, watch } = createFixture();
    watch(holder(token("a", { expiresAt: Date.now() + 1500 })), "s", "late");
    watch(holder(token("a", { cookie: "one" })), "s", "one");
    watch(holder(token("a", { cookie: "two" })), "s", "two");
    await vi.advanceTimersByTimeAsync(1000);
    expect(ended).toEqual([]);
    bad.add("one");
    await vi.advanceTimersByTimeAsync(1000);
    expect(ended).toEqual(["late unauthorized", "one unauthorized"]);
  });

  it("end when the session is no longer readable", async () => {
    const { foreign, ended, watch } = createFixture();
    watch(holder(token("a")), "s", "s");
    watch(holder(token("a")), "t", "t");
    foreign.add("s");
    await vi.advanceTimersByTimeAsync(1000);
    expect(ended).toEqual(["s unauthorized"]);
  });

  it("end with their share link but not if a token also allows access", async () => {
    const { bad, ended, watch } = createFixture({
      mayRead: async ({ principal, shares }, session) =>
        (principal.kind === "token" && session === "mine") || shares.some((share) => share.session?.id === session),
    });
    const [one, two] = [link("1", "s"), link("2", "t")];
    watch(holder(ANONYMOUS, one), "s", "visitor");
    watch(holder(ANONYMOUS, one, two), undefined, "socket with two links");
    watch(holder(ANONYMOUS, one), undefined, "socket with one link");
    watch(holder(token("a"), one), "s", "stream by link");
    watch(holder(token("a"), one), "mine", "stream by token");
    watch(holder(token("a"), one), undefined, "socket with a token");
    bad.add("share:1");
    await vi.advanceTimersByTimeAsync(1000);
    expect(ended).toEqual(["visitor unauthorized", "socket with one link unauthorized", "stream by link unauthorized"]);
  });

  it("check each credential and session once for many streams", async () => {
    const { checked, read, watch } = createFixture({ maxStreams: 1000 });
    for (let at = 0; at < 1000; at++) watch(holder(token("a")), "s", "");
    for (let at = 0; at < 10; at++) watch(holder(token("b")), "s", "");
    await vi.advanceTimersByTimeAsync(1000);
    expect(checked).toEqual(["token:a", "token:b"]);
    expect(read).toEqual(["s", "s"]);
  });

  it("check other sessions when one check fails", async () => {
    const { ended, reported, watch } = createFixture({
      mayRead: async (_holder, session) => {
        if (session === "broken") throw new Error("damaged");
        return session === "mine";
      },
    });
    for (const session of ["broken", "mine", "other"]) watch(holder(token("a")), session, session);
    await vi.advanceTimersByTimeAsync(1000);
    expect(ended).toEqual(["other unauthorized"]);
    expect(reported).toHaveLength(1);
  });

  it("use no timer while idle and ignore local callers", () => {
    const { grants, watch } = createFixture();
    const releases = [watch(holder(token("a")), "s", ""), watch(holder(LOCAL), "s", "")];
    expect([vi.getTimerCount(), grants.size]).toEqual([1, 1]);
    for (const release of releases) release();
    for (const release of releases) release();
    expect([vi.getTimerCount(), grants.size]).toEqual([0, 0]);
    watch(holder(token("a")), "s", "");
    grants.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("reject callers without credentials and streams above the limit", () => {
    const { watch } = createFixture({ maxStreams: 2 });
    expect(() => watch(holder(ANONYMOUS), undefined, "")).toThrow(expect.objectContaining({ code: "unauthorized" }));
    // A link to another session does not count.
    expect(() => watch(holder(ANONYMOUS, link("1", "t")), "s", "")).toThrow(
      expect.objectContaining({ code: "unauthorized" }),
    );
    const release = watch(holder(token("a")), "s", "");
    watch(holder(token("a", { cookie: "c" })), undefined, "");
    expect(() => watch(holder(token("a")), "s", "")).toThrow(
      expect.objectContaining({ code: "too_many_streams", details: { limit: 2 } }),
    );
    watch(holder(token("b")), "s", "");
    watch(holder(token("c", { limits: { maxStreams: 1 } })), "s", "");
    expect(() => watch(holder(token("c", { limits: { maxStreams: 1 } })), "s", "")).toThrow("1 streams");
    release();
    watch(holder(token("a")), "s", "");
  });

  it("end after repeated failures of the credential store but not after the first", async () => {
    let isBroken = true;
    const { ended, reported, watch } = createFixture({
      isValid: async () => {
        if (isBroken) throw new Error("busy");
        return true;
      },
    });
    watch(holder(token("a")), "s", "a");
    await vi.advanceTimersByTimeAsync(2000);
    isBroken = false;
    await vi.advanceTimersByTimeAsync(1000);
    isBroken = true;
    await vi.advanceTimersByTimeAsync(2000);
    expect(ended).toEqual([]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(ended).toEqual(["a store_unavailable"]);
    expect(reported).toHaveLength(5);
  });

  it("end when the credential store does not answer", async () => {
    const { grants, ended, watch } = createFixture({ isValid: () => new Promise(() => undefined) });
    watch(holder(token("a")), "s", "a");
    await vi.advanceTimersByTimeAsync(3000);
    expect(ended).toEqual([]);
    await vi.advanceTimersByTimeAsync(1000);
    expect([ended, grants.size]).toEqual([["a store_unavailable"], 0]);
  });

  it("are not ended twice when their stream closes during a check", async () => {
    const verdict = Promise.withResolvers<boolean>();
    const { grants, ended, watch } = createFixture({ isValid: () => verdict.promise });
    const release = watch(holder(token("a")), "s", "a");
    await vi.advanceTimersByTimeAsync(1000);
    release();
    verdict.resolve(false);
    await vi.advanceTimersByTimeAsync(1000);
    expect([ended, grants.size]).toEqual([[], 0]);
  });

  it("keep correct counts for random operations", async () => {
    const step = fc.record({
      act: fc.constantFrom("watch", "release", "revoke", "sweep"),
      who: fc.constantFrom("a", "b"),
      session: fc.constantFrom("s", "t", undefined),
      pick: fc.nat(20),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { grants, bad } = createFixture({ maxStreams: 5 });
        const live: { readonly who: string; readonly release: () => void; hasEnded: boolean }[] = [];
        const count = (who: string): number => live.filter((one) => one.who === who && !one.hasEnded).length;
        for (const { act, who, session, pick } of steps) {
          if (act === "watch") {
            const one = { who, release: (): void => undefined, hasEnded: false };
            const open = (): (() => void) =>
              grants.watch(holder(token(who)), session, (_why: LoomError) => (one.hasEnded = true));
            if (count(who) >= 5) expect(open).toThrow("5 streams");
            else live.push(Object.assign(one, { release: open() }));
          } else if (act === "release") {
            const one = live[pick];
            if (one !== undefined) {
              one.release();
              one.hasEnded = true;
            }
          } else if (act === "revoke") {
            bad.add(`token:${who}`);
            await vi.advanceTimersByTimeAsync(1000);
            expect(count(who)).toBe(0);
            bad.clear();
          } else await vi.advanceTimersByTimeAsync(1000);
          expect(grants.size).toBe(count("a") + count("b"));
          expect(vi.getTimerCount()).toBe(grants.size > 0 ? 1 : 0);
        }
        grants.close();
      }),
      { numRuns: 50 },
    );
  });
});
