// Who is at the page, by what the server tells.
import type { Auth, Scope } from "loom-agent/server";
import { describe, expect, it } from "vitest";
import { type AccessState, isInside, may, mayShare, reduceAccess, UNKNOWN_ACCESS } from "./access.ts";

const NOBODY: Auth = { mode: "required", signed_in: false, scopes: [], shared_session_ids: [] };
const ANN: Auth = {
  mode: "required",
  signed_in: true,
  kind: "token",
  name: "laptop",
  owner: "ann",
  scopes: ["read", "run"],
  shared_session_ids: ["theirs"],
  expires_at: 1000,
};
const OPEN: Auth = { mode: "open", signed_in: false, scopes: [], shared_session_ids: [] };

const tell = (state: AccessState, auth: Auth, { shared, now = 0 }: { shared?: string; now?: number } = {}) =>
  reduceAccess(state, { type: "access/told", auth, shared, now });

describe("access", () => {
  it.each([
    ["nobody is asked", OPEN, undefined, "open"],
    ["somebody has to sign in", NOBODY, undefined, "out"],
    ["somebody has", ANN, undefined, "in"],
    ["somebody opened a link", { ...NOBODY, shared_session_ids: ["s"] }, "s", "shared"],
    ["a link is for another session", { ...NOBODY, shared_session_ids: ["s"] }, "other", "unlinked"],
    ["the one who signed in has a link, too", ANN, "theirs", "shared"],
    ["the one who signed in has no link to this", ANN, "other", "unlinked"],
  ] as const)("where %s", (_what, auth, shared, phase) => {
    const state = tell(UNKNOWN_ACCESS, auth, shared === undefined ? {} : { shared });
    expect([state.phase, isInside(state)]).toEqual([phase, ["open", "in", "shared"].includes(phase)]);
  });

  it("stays the same object while nothing changes, so that nothing is rendered", () => {
    for (const [auth, options] of [
      [OPEN, {}],
      [NOBODY, {}],
      [ANN, {}],
      [ANN, { shared: "theirs" }],
    ] as const) {
      const state = tell(UNKNOWN_ACCESS, auth, options);
      expect(tell(state, structuredClone(auth), options)).toBe(state);
      expect(reduceAccess(state, { type: "notice/closed" } as never)).toBe(state);
    }
    const state = tell(UNKNOWN_ACCESS, ANN);
    expect(tell(state, { ...ANN, scopes: ["read"] }).scopes).toEqual(["read"]);
  });

  it("tells why somebody who was in is out, and remembers whose the page was", () => {
    const inside = tell(UNKNOWN_ACCESS, ANN);
    expect(tell(inside, NOBODY, { now: 999 })).toMatchObject({ phase: "out", reason: "ended", owner: "ann" });
    expect(tell(inside, NOBODY, { now: 1000 })).toMatchObject({ phase: "out", reason: "expired" });
    expect(tell(UNKNOWN_ACCESS, NOBODY).reason).toBeUndefined();
    expect(tell(tell(UNKNOWN_ACCESS, OPEN), NOBODY).reason).toBeUndefined();
    expect(tell(tell(inside, NOBODY), ANN)).toMatchObject({ phase: "in", reason: undefined, trouble: undefined });
  });

  it("lets everybody do what their scopes say, and with a link nothing", () => {
    const all: readonly Scope[] = ["read", "write", "run", "approve", "knowledge"];
    const allowed = (state: AccessState): readonly Scope[] => all.filter((scope) => may(state, scope));
    const admin = { ...ANN, scopes: ["admin"] };
    expect(allowed(tell(UNKNOWN_ACCESS, OPEN))).toEqual(all);
    expect(allowed(tell(UNKNOWN_ACCESS, ANN))).toEqual(["read", "run"]);
    expect(allowed(tell(UNKNOWN_ACCESS, admin))).toEqual(all);
    expect(allowed(tell(UNKNOWN_ACCESS, admin, { shared: "theirs" }))).toEqual([]);
    expect(allowed(tell(tell(UNKNOWN_ACCESS, admin), NOBODY))).toEqual([]);
    // Where nobody is asked there is nothing to share.
    expect([OPEN, ANN, admin].map((auth) => mayShare(tell(UNKNOWN_ACCESS, auth)))).toEqual([false, false, true]);
  });
});
