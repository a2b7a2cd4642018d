// Access state from server responses.
import type { Scope } from "loom-agent/server";
import type { Auth } from "../../../src/server/api/shapes.generated.ts";
import { describe, expect, it } from "vitest";
import { type AccessState, hasAccess, may, reduceAccess, UNKNOWN_ACCESS } from "./access.ts";

const SIGNED_OUT: Auth = { mode: "required", signed_in: false, scopes: [], shared_session_ids: [] };
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
  reduceAccess(state, { type: "access/loaded", auth, shared, now });

describe("access", () => {
  it.each([
    ["authentication is off", OPEN, undefined, "open"],
    ["the user is signed out", SIGNED_OUT, undefined, "signed-out"],
    ["the user is signed in", ANN, undefined, "signed-in"],
    ["a share link was opened", { ...SIGNED_OUT, shared_session_ids: ["s"] }, "s", "shared"],
    ["the link is for another session", { ...SIGNED_OUT, shared_session_ids: ["s"] }, "other", "invalid-link"],
    ["the link was opened without authentication", { ...OPEN, shared_session_ids: ["s"] }, "s", "shared"],
    ["the link is invalid without authentication", OPEN, "s", "invalid-link"],
    ["this machine can only open links", { ...OPEN, mode: "links", scopes: [] }, undefined, "links-only"],
    ["a signed-in user has the link", ANN, "theirs", "shared"],
    ["a signed-in user does not have the link", ANN, "other", "invalid-link"],
  ] as const)("if %s", (_what, auth, shared, phase) => {
    const state = tell(UNKNOWN_ACCESS, auth, shared === undefined ? {} : { shared });
    expect([state.phase, hasAccess(state)]).toEqual([phase, ["open", "signed-in", "shared"].includes(phase)]);
  });

  it("keeps its identity while nothing changes", () => {
    for (const [auth, options] of [
      [OPEN, {}],
      [SIGNED_OUT, {}],
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

  it("tells why the user was signed out, and remembers the owner", () => {
    const inside = tell(UNKNOWN_ACCESS, ANN);
    expect(tell(inside, SIGNED_OUT, { now: 999 })).toMatchObject({
      phase: "signed-out",
      reason: "ended",
      owner: "ann",
    });
    expect(tell(inside, SIGNED_OUT, { now: 1000 })).toMatchObject({ phase: "signed-out", reason: "expired" });
    expect(tell(UNKNOWN_ACCESS, SIGNED_OUT).reason).toBeUndefined();
    expect(tell(tell(UNKNOWN_ACCESS, OPEN), SIGNED_OUT).reason).toBeUndefined();
    expect(tell(tell(inside, SIGNED_OUT), ANN)).toMatchObject({
      phase: "signed-in",
      reason: undefined,
      failure: undefined,
    });
  });

  it("allows what the scopes allow, and nothing with a link", () => {
    const all: readonly Scope[] = ["read", "write", "run", "approve", "knowledge"];
    const allowed = (state: AccessState): readonly Scope[] => all.filter((scope) => may(state, scope));
    const admin = { ...ANN, scopes: ["admin"] };
    expect(allowed(tell(UNKNOWN_ACCESS, OPEN))).toEqual(all);
    expect(allowed(tell(UNKNOWN_ACCESS, ANN))).toEqual(["read", "run"]);
    expect(allowed(tell(UNKNOWN_ACCESS, admin))).toEqual(all);
    expect(allowed(tell(UNKNOWN_ACCESS, admin, { shared: "theirs" }))).toEqual([]);
    expect(allowed(tell(tell(UNKNOWN_ACCESS, admin), SIGNED_OUT))).toEqual([]);
  });
});
