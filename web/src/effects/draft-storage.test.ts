// Drafts in the storage of the tab: reloads and users.
import type { Auth } from "../../../src/server/api/shapes.generated.ts";
import { expect, it, vi } from "vitest";
import { createStore } from "../store/create-store.ts";
import { createPageState, reducePage } from "../store/page-state.ts";
import { readDrafts } from "../store/stored-drafts.ts";
import { storeDrafts } from "./draft-storage.ts";

const SIGNED_OUT: Auth = { mode: "required", signed_in: false, scopes: [], shared_session_ids: [] };

function createTab() {
  const stored = new Map<string, string>();
  const storage = {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => void stored.set(key, value),
  };
  /** Loads the page, and leaves it again at the next load. */
  return () => {
    const settings = { language: "en", theme: "system", hasSidebar: true } as const;
    const store = createStore(reducePage, createPageState(settings, readDrafts(storage)));
    const drafts = storeDrafts(store, storage);
    const enter = (auth: Auth): boolean => {
      store.dispatch({ type: "access/loaded", auth, shared: undefined, now: 0 });
      return drafts.claim();
    };
    return {
      leave: drafts.save,
      enterOpen: () => enter({ ...SIGNED_OUT, mode: "open" }),
      signIn: (owner: string) => enter({ ...SIGNED_OUT, signed_in: true, owner, scopes: ["run"] }),
      write: (text: string) => store.dispatch({ type: "draft/typed", session: "", text }),
      read: () => store.getSnapshot().composing.drafts.get("")?.text,
    };
  };
}

it("keeps a draft while its user is signed out", () => {
  const load = createTab();
  const first = load();
  expect(first.signIn("ann")).toBe(true);
  first.write("a plan");
  first.leave();
  // The sign-in expired: the page is loaded twice before Ann signs in again.
  load().leave();
  const again = load();
  expect([again.signIn("ann"), again.read()]).toEqual([true, "a plan"]);
});

it("removes a draft when another user signs in after a reload", () => {
  const load = createTab();
  const first = load();
  first.signIn("ann");
  first.write("a plan");
  first.leave();
  const other = load();
  expect([other.signIn("bob"), other.read()]).toEqual([false, undefined]);
  other.leave();
  const again = load();
  expect([again.signIn("ann"), again.read()]).toEqual([false, undefined]);
});

it("reports a full storage once", () => {
  vi.useFakeTimers();
  const settings = { language: "en", theme: "system", hasSidebar: true } as const;
  const store = createStore(reducePage, createPageState(settings));
  let isFull = true;
  storeDrafts(store, {
    getItem: () => null,
    setItem: () => {
      if (isFull) throw new DOMException("full", "QuotaExceededError");
    },
  });
  const write = (text: string): number => {
    store.dispatch({ type: "draft/typed", session: "", text });
    vi.runAllTimers();
    return store.getSnapshot().notices.length;
  };
  expect(write("a")).toBe(1);
  expect(store.getSnapshot().notices).toMatchObject([{ task: "save", code: "storage_full" }]);
  store.dispatch({ type: "notice/closed", id: store.getSnapshot().notices[0]!.id });
  expect(write("ab")).toBe(0);
  isFull = false;
  expect(write("abc")).toBe(0);
  isFull = true;
  expect(write("abcd")).toBe(1);
  vi.useRealTimers();
});

it("keeps a draft without authentication", () => {
  const load = createTab();
  const first = load();
  first.enterOpen();
  first.write("a plan");
  first.leave();
  const again = load();
  expect([again.enterOpen(), again.read()]).toEqual([true, "a plan"]);
});
