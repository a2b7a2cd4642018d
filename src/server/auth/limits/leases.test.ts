import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { LoomError } from "../../../protocol/index.ts";
import { createLeases, type Holder, type LeasesOptions } from "./leases.ts";
import { LOCAL, NOBODY, type Principal } from "../principal.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const token = (id: string, more: Partial<Principal> = {}): Principal => ({
  ...NOBODY,
  kind: "token",
  id: `token:${id}`,
  owner: "ann",
  ...more,
});
const link = (id: string, session: string): Principal => ({
  ...NOBODY,
  kind: "share",
  id: `share:${id}`,
  session: { id: session, incarnation: "i" },
});
const holder = (principal: Principal, ...shares: readonly Principal[]): Holder => ({ principal, shares });

function setStage(options: Partial<LeasesOptions<Holder>> = {}) {
  const bad = new Set<string>();
  const asked: string[] = [];
  const read: string[] = [];
  const foreign = new Set<string>();
  const reported: unknown[] = [];
  const leases = createLeases<Holder>({
    isGood: ({ id, cookie = "" }) => {
      asked.push(`${id}${cookie}`);
      return !bad.has(id) && !bad.has(cookie);
    },
    mayRead: async ({ principal, shares }, session) => {
      read.push(session);
      return !foreign.has(session) && (principal.kind !== "nobody" || shares.length > 0);
    },
    onError: (error) => reported.push(error),
    ...options,
  });
  const ended: string[] = [];
  const watch = (who: Holder, session: string | undefined, name: string): (() => void) =>
    leases.watch(who, session, ({ code }) => ended.push(`${name} ${code}`));
  return { leases, bad, asked, read, foreign, ended, reported, watch };
}

describe("leases", () => {
  it("end what a revoked credential has live, once, and nothing else", async () => {
    const { leases, bad, ended, watch } = setStage();
    watch(holder(token("a")), "s", "stream");
    watch(holder(token("a")), undefined, "socket");
    watch(holder(token("b")), "s", "other");
    await vi.advanceTimersByTimeAsync(3000);
    expect(ended).toEqual([]);
    bad.add("token:a");
    await vi.advanceTimersByTimeAsync(2000);
    expect(ended).toEqual(["stream unauthorized", "socket unauthorized"]);
    expect(leases.size).toBe(1);
    await vi.advanceTimersByTimeAsync(5000);
    expect(ended).toHaveLength(2);
  });

  it("end what has run out, and what a browser had that was signed out", async () => {
    const { bad, ended, watch } = setStage();
    watch(holder(token("a", { expiresAt: Date.now() + 1500 })), "s", "late");
    watch(holder(token("a", { cookie: "one" })), "s", "one");
    watch(holder(token("a", { cookie: "two" })), "s", "two");
    await vi.advanceTimersByTimeAsync(1000);
    expect(ended).toEqual([]);
    bad.add("one");
    await vi.advanceTimersByTimeAsync(1000);
    expect(ended).toEqual(["late unauthorized", "one unauthorized"]);
  });

  it("end what is read of a session that has become another's", async () => {
    const { foreign, ended, watch } = setStage();
    watch(holder(token("a")), "s", "s");
    watch(holder(token("a")), "t", "t");
    foreign.add("s");
    await vi.advanceTimersByTimeAsync(1000);
    expect(ended).toEqual(["s unauthorized"]);
  });

  it("end what stands by a link when the link is taken back, and leave the token's own", async () => {
    const { bad, ended, watch } = setStage({
      mayRead: async ({ principal, shares }, session) =>
        (principal.kind === "token" && session === "mine") || shares.some((share) => share.session?.id === session),
    });
    const [one, two] = [link("1", "s"), link("2", "t")];
    watch(holder(NOBODY, one), "s", "visitor");
    watch(holder(NOBODY, one, two), undefined, "socket of two links");
    watch(holder(NOBODY, one), undefined, "socket of one link");
    watch(holder(token("a"), one), "s", "by the link");
    watch(holder(token("a"), one), "mine", "by the token");
    watch(holder(token("a"), one), undefined, "socket of a token");
    bad.add("share:1");
    await vi.advanceTimersByTimeAsync(1000);
    expect(ended).toEqual(["visitor unauthorized", "socket of one link unauthorized", "by the link unauthorized"]);
  });

  it("ask once for each credential and each session, however many streams there are", async () => {
    const { asked, read, watch } = setStage({ maxStreams: 1000 });
    for (let at = 0; at < 1000; at++) watch(holder(token("a")), "s", "");
    for (let at = 0; at < 10; at++) watch(holder(token("b")), "s", "");
    await vi.advanceTimersByTimeAsync(1000);
    expect(asked).toEqual(["token:a", "token:b"]);
    expect(read).toEqual(["s", "s"]);
  });

  it("look at the others where one session cannot be looked at", async () => {
    const { ended, reported, watch } = setStage({
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

  it("take nothing of a clock while nobody is watched, and watch nobody on their own machine", () => {
    const { leases, watch } = setStage();
    const releases = [watch(holder(token("a")), "s", ""), watch(holder(LOCAL), "s", "")];
    expect([vi.getTimerCount(), leases.size]).toEqual([1, 1]);
    for (const release of releases) release();
    for (const release of releases) release();
    expect([vi.getTimerCount(), leases.size]).toEqual([0, 0]);
    watch(holder(token("a")), "s", "");
    leases.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("refuse one who has shown nothing, and one stream too many", () => {
    const { watch } = setStage({ maxStreams: 2 });
    expect(() => watch(holder(NOBODY), undefined, "")).toThrow(expect.objectContaining({ code: "unauthorized" }));
    // A link to another session is none to this.
    expect(() => watch(holder(NOBODY, link("1", "t")), "s", "")).toThrow(
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

  it("end all when it cannot be found out for seconds, and none at the first failure", async () => {
    let isBroken = true;
    const { ended, reported, watch } = setStage({
      isGood: () => {
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
    expect(ended).toEqual(["a unauthorized"]);
    expect(reported).toHaveLength(5);
  });

  it("count right whatever comes and goes", async () => {
    const step = fc.record({
      act: fc.constantFrom("watch", "release", "revoke", "sweep"),
      who: fc.constantFrom("a", "b"),
      session: fc.constantFrom("s", "t", undefined),
      pick: fc.nat(20),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { leases, bad } = setStage({ maxStreams: 5 });
        const live: { readonly who: string; readonly release: () => void; isOver: boolean }[] = [];
        const count = (who: string): number => live.filter((one) => one.who === who && !one.isOver).length;
        for (const { act, who, session, pick } of steps) {
          if (act === "watch") {
            const one = { who, release: (): void => undefined, isOver: false };
            const open = (): (() => void) =>
              leases.watch(holder(token(who)), session, (_why: LoomError) => (one.isOver = true));
            if (count(who) >= 5) expect(open).toThrow("5 streams");
            else live.push(Object.assign(one, { release: open() }));
          } else if (act === "release") {
            const one = live[pick];
            if (one !== undefined) {
              one.release();
              one.isOver = true;
            }
          } else if (act === "revoke") {
            bad.add(`token:${who}`);
            await vi.advanceTimersByTimeAsync(1000);
            expect(count(who)).toBe(0);
            bad.clear();
          } else await vi.advanceTimersByTimeAsync(1000);
          expect(leases.size).toBe(count("a") + count("b"));
          expect(vi.getTimerCount()).toBe(leases.size > 0 ? 1 : 0);
        }
        leases.close();
      }),
      { numRuns: 50 },
    );
  });
});
