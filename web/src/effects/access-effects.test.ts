// Signing in and out, links, and what the page does when the server sees it otherwise.
import type { Auth } from "loom-agent/server";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ApiError } from "../api/api-error.ts";
import { UNKNOWN_ACCESS } from "../store/access.ts";
import { createStore } from "../store/create-store.ts";
import { createPageState, reducePage } from "../store/page-state.ts";
import { createAccessEffects } from "./access-effects.ts";
import { createFakeKit } from "./fake-kit.contract.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const NOBODY: Auth = { mode: "required", signed_in: false, scopes: [], shared_session_ids: [] };
const ANN: Auth = { ...NOBODY, signed_in: true, name: "laptop", owner: "ann", scopes: ["read"] };

function setUp(answer: (what: string, ...values: unknown[]) => unknown) {
  const store = createStore(reducePage, createPageState({ language: "en", theme: "system", hasSidebar: true }));
  const fake = createFakeKit(answer);
  const kit = { ...fake, store };
  const happened: string[] = [];
  let shared: string | undefined;
  const effects = createAccessEffects(kit, {
    findShared: () => shared,
    setShared: (session) => {
      shared = session;
      happened.push(`shared ${String(session)}`);
    },
    onEnter: () => void happened.push("enter"),
    startOver: () => void happened.push("over"),
    reload: () => void happened.push("reload"),
  });
  return { effects, happened, asked: fake.asked, access: () => store.getSnapshot().access, store };
}

describe("signing in", () => {
  it("is asked for once, and lets in once", async () => {
    let auth = NOBODY;
    const { effects, happened, asked, access } = setUp(() => auth);
    await Promise.all([effects.checkAccess(), effects.checkAccess()]);
    expect([asked.length, access().phase, happened]).toEqual([1, "out", []]);
    auth = ANN;
    await effects.signIn("loom_tok_x");
    await effects.checkAccess();
    expect([access().phase, happened]).toEqual(["in", ["enter"]]);
    expect(JSON.stringify(access())).not.toContain("loom_tok_x");
  });

  it("says what is wrong, and tries again when it is told to", async () => {
    const { effects, happened, access } = setUp((what) => {
      if (what === "getAuth") return NOBODY;
      throw new ApiError("unauthorized", "no good");
    });
    await effects.checkAccess();
    await effects.signIn("x");
    expect(access()).toMatchObject({ phase: "out", isBusy: false, trouble: { code: "unauthorized" } });
    expect(happened).toEqual([]);
  });

  it("begins anew for somebody else, and goes on for the same", async () => {
    let auth = ANN;
    const { effects, happened } = setUp(() => auth);
    await effects.checkAccess();
    auth = NOBODY;
    await effects.checkAccess();
    auth = { ...ANN, name: "phone" };
    await effects.signIn("x");
    expect(happened).toEqual(["enter", "enter"]);
    auth = { ...ANN, owner: "bob" };
    await effects.checkAccess();
    expect(happened).toEqual(["enter", "enter", "over"]);
  });

  it("ends with nothing on the page; one that failed changes nothing", async () => {
    let isDown = true;
    const { effects, happened, store } = setUp((what) => {
      if (what === "signOut" && isDown) throw new ApiError("connection_lost", "no");
      return ANN;
    });
    await effects.checkAccess();
    await effects.signOut();
    expect([happened, store.getSnapshot().notices[0]?.task]).toEqual([["enter"], "sign-out"]);
    isDown = false;
    await effects.signOut();
    expect(happened).toEqual(["enter", "over"]);
  });

  it("is asked about until the server answers; what was known holds until then", async () => {
    let isDown = true;
    const { effects, asked, access } = setUp(() => {
      if (isDown) throw new ApiError("connection_lost", "no");
      return ANN;
    });
    await effects.checkAccess();
    expect(access()).toMatchObject({ phase: "asking", trouble: { code: "connection_lost" } });
    isDown = false;
    await vi.advanceTimersByTimeAsync(3000);
    expect([access().phase, asked.length]).toEqual(["in", 2]);
    isDown = true;
    await effects.checkAccess();
    await vi.advanceTimersByTimeAsync(6000);
    expect([access().phase, access().trouble, asked.length]).toEqual(["in", undefined, 5]);
    isDown = false;
    await vi.advanceTimersByTimeAsync(60_000);
    expect([access().phase, asked.length]).toEqual(["in", 6]);
  });
});

describe("a link", () => {
  const LINKED: Auth = { ...NOBODY, session_id: "s", shared_session_ids: ["s"] };

  it("shows its session, and nothing once it is taken back", async () => {
    let auth = LINKED;
    const { effects, happened, access } = setUp(() => auth);
    await effects.openLink("loom_shr_x");
    expect([access().phase, access().session, happened]).toEqual(["shared", "s", ["shared s", "enter"]]);
    auth = NOBODY;
    await effects.checkAccess();
    expect(access().phase).toBe("unlinked");
    effects.leaveLink();
    expect(happened.slice(2)).toEqual(["shared undefined", "reload"]);
  });

  it("takes the place of what was shown before it", async () => {
    const { effects, happened } = setUp((what) => (what === "getAuth" ? ANN : { ...ANN, ...LINKED, signed_in: true }));
    await effects.checkAccess();
    await effects.openLink("loom_shr_x");
    expect(happened).toEqual(["enter", "shared s", "reload"]);
  });

  it("signs nobody in: what is no secret of a link is not even shown to the server", async () => {
    const { effects, asked, access } = setUp(() => ANN);
    for (const secret of ["loom_tok_a_b", "eyJhbGciOi.J9.x", "", "loom_ses_x"]) {
      await effects.openLink(secret);
      expect(access().phase).toBe("unlinked");
    }
    expect(asked).toEqual([]);
  });

  it("that is no good says so; where nobody is asked, it is not needed", async () => {
    let code = "unauthorized";
    const { effects, access, store } = setUp((what) => {
      if (what === "signIn") throw new ApiError(code, "no");
      return { ...NOBODY, mode: "open" };
    });
    await effects.openLink("loom_shr_x");
    expect(access()).toEqual({ ...UNKNOWN_ACCESS, phase: "unlinked" });
    code = "unsupported";
    await effects.openLink("loom_shr_x");
    expect(store.getSnapshot().access.phase).toBe("open");
  });
});
