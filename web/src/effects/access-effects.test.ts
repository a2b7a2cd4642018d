// Sign-in, sign-out, share links, and changes of access while the page is open.
import type { Auth } from "../../../src/server/api/shapes.generated.ts";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ApiError } from "../api/api-error.ts";
import { UNKNOWN_ACCESS } from "../store/access.ts";
import { createStore } from "../store/create-store.ts";
import { createPageState, reducePage } from "../store/page-state.ts";
import { createAccessEffects } from "./access-effects.ts";
import { createFakeContext } from "../../../test/contracts/fake-context.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const SIGNED_OUT: Auth = { mode: "required", signed_in: false, scopes: [], shared_session_ids: [] };
const ANN: Auth = { ...SIGNED_OUT, signed_in: true, name: "laptop", owner: "ann", scopes: ["read"] };

function setUp(answer: (what: string, ...values: unknown[]) => unknown) {
  const store = createStore(reducePage, createPageState({ language: "en", theme: "system", hasSidebar: true }));
  const fake = createFakeContext(answer);
  const context = { ...fake, store };
  const events: string[] = [];
  let shared: string | undefined;
  const effects = createAccessEffects(context, {
    findShared: () => shared,
    setShared: (session) => {
      shared = session;
      events.push(`shared ${String(session)}`);
    },
    onEnter: () => void events.push("enter"),
    startOver: () => void events.push("over"),
    reload: () => void events.push("reload"),
  });
  return { effects, events, calls: fake.calls, access: () => store.getSnapshot().access, store };
}

describe("sign-in", () => {
  it("checks access once for concurrent calls, and enters once", async () => {
    let auth = SIGNED_OUT;
    const { effects, events, calls, access } = setUp(() => auth);
    await Promise.all([effects.checkAccess(), effects.checkAccess()]);
    expect([calls.length, access().phase, events]).toEqual([1, "signed-out", []]);
    auth = ANN;
    await effects.signIn("loom_tok_x");
    await effects.checkAccess();
    expect([access().phase, events]).toEqual(["signed-in", ["enter"]]);
    expect(JSON.stringify(access())).not.toContain("loom_tok_x");
  });

  it("reports a refused token and stays signed out", async () => {
    const { effects, events, access } = setUp((what) => {
      if (what === "getAuth") return SIGNED_OUT;
      throw new ApiError("unauthorized", "invalid token");
    });
    await effects.checkAccess();
    await effects.signIn("x");
    expect(access()).toMatchObject({ phase: "signed-out", isBusy: false, failure: { code: "unauthorized" } });
    expect(events).toEqual([]);
  });

  it("continues for the same owner, and starts over for another", async () => {
    let auth = ANN;
    const { effects, events } = setUp(() => auth);
    await effects.checkAccess();
    auth = SIGNED_OUT;
    await effects.checkAccess();
    auth = { ...ANN, name: "phone" };
    await effects.signIn("x");
    expect(events).toEqual(["enter", "enter"]);
    auth = { ...ANN, owner: "bob" };
    await effects.checkAccess();
    expect(events).toEqual(["enter", "enter", "over"]);
  });

  it("clears the page on sign-out, and changes nothing if sign-out fails", async () => {
    let isDown = true;
    const { effects, events, store } = setUp((what) => {
      if (what === "signOut" && isDown) throw new ApiError("connection_lost", "no");
      return ANN;
    });
    await effects.checkAccess();
    await effects.signOut();
    expect([events, store.getSnapshot().notices[0]?.task]).toEqual([["enter"], "sign-out"]);
    isDown = false;
    await effects.signOut();
    expect(events).toEqual(["enter", "over"]);
  });

  it("repeats the access check until the server responds, and keeps the state meanwhile", async () => {
    let isDown = true;
    const { effects, calls, access } = setUp(() => {
      if (isDown) throw new ApiError("connection_lost", "no");
      return ANN;
    });
    await effects.checkAccess();
    expect(access()).toMatchObject({ phase: "checking", failure: { code: "connection_lost" } });
    isDown = false;
    await vi.advanceTimersByTimeAsync(3000);
    expect([access().phase, calls.length]).toEqual(["signed-in", 2]);
    isDown = true;
    await effects.checkAccess();
    await vi.advanceTimersByTimeAsync(6000);
    expect([access().phase, access().failure, calls.length]).toEqual(["signed-in", undefined, 5]);
    isDown = false;
    await vi.advanceTimersByTimeAsync(60_000);
    expect([access().phase, calls.length]).toEqual(["signed-in", 6]);
  });
});

describe("a share link", () => {
  const LINKED: Auth = { ...SIGNED_OUT, session_id: "s", shared_session_ids: ["s"] };

  it("shows its session until the link is revoked", async () => {
    let auth = LINKED;
    const { effects, events, access } = setUp(() => auth);
    await effects.openLink("loom_shr_x");
    expect([access().phase, access().session, events]).toEqual(["shared", "s", ["shared s", "enter"]]);
    auth = SIGNED_OUT;
    await effects.checkAccess();
    expect(access().phase).toBe("invalid-link");
    effects.leaveLink();
    expect(events.slice(2)).toEqual(["shared undefined", "reload"]);
  });

  it("reloads a page that showed something else", async () => {
    const { effects, events } = setUp((what) => (what === "getAuth" ? ANN : { ...ANN, ...LINKED, signed_in: true }));
    await effects.checkAccess();
    await effects.openLink("loom_shr_x");
    expect(events).toEqual(["enter", "shared s", "reload"]);
  });

  it("never sends a credential that is not a share secret", async () => {
    const { effects, calls, access } = setUp(() => ANN);
    for (const secret of ["loom_tok_a_b", "eyJhbGciOi.J9.x", "", "loom_ses_x"]) {
      await effects.openLink(secret);
      expect(access().phase).toBe("invalid-link");
    }
    expect(calls).toEqual([]);
  });

  it("reports an invalid link", async () => {
    const { effects, access } = setUp(() => {
      throw new ApiError("unauthorized", "no");
    });
    await effects.openLink("loom_shr_x");
    expect(access()).toEqual({ ...UNKNOWN_ACCESS, phase: "invalid-link" });
  });
});
