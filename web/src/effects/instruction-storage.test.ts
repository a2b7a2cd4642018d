// Written system prompts in the storage of the browser: users and tabs.
import type { Auth } from "../../../src/server/api/shapes.generated.ts";
import { describe, expect, it } from "vitest";
import { createStore } from "../store/create-store.ts";
import { createPageState, reducePage } from "../store/page-state.ts";
import { storeInstructions } from "./instruction-storage.ts";

const SIGNED_OUT: Auth = { mode: "required", signed_in: false, scopes: [], shared_session_ids: [] };

function createBrowser() {
  const stored = new Map<string, string>();
  const storage = {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => void stored.set(key, value),
  };
  const openTab = () => {
    const store = createStore(reducePage, createPageState({ language: "en", theme: "system", hasSidebar: true }));
    const kept = storeInstructions(store, storage);
    const enter = (auth: Auth): void => {
      store.dispatch({ type: "access/loaded", auth, shared: undefined, now: 0 });
      kept.load();
    };
    return {
      ...kept,
      store,
      enter,
      signIn: (owner: string) => enter({ ...SIGNED_OUT, signed_in: true, owner, scopes: ["run"] }),
      write: (session: string, text: string) => store.dispatch({ type: "instructions/written", session, text }),
      read: (session: string) => store.getSnapshot().instructions.get(session)?.text,
    };
  };
  return { openTab, readStored: () => [...stored.values()].join() };
}

describe("storeInstructions", () => {
  it("gives a prompt only to the user who wrote it", () => {
    const { openTab } = createBrowser();
    const ann = openTab();
    ann.signIn("ann");
    ann.write("", "Answer as a spy.");
    // The sign-in of Ann expired, and the page was loaded again.
    const next = openTab();
    next.enter(SIGNED_OUT);
    expect(next.read("")).toBeUndefined();
    next.signIn("bob");
    expect(next.read("")).toBeUndefined();
    const again = openTab();
    again.signIn("ann");
    expect(again.read("")).toBe("Answer as a spy.");
    const open = openTab();
    open.enter({ ...SIGNED_OUT, mode: "open" });
    expect(open.read("")).toBeUndefined();
  });

  it("removes all prompts when another user takes over the page", () => {
    const { openTab, readStored } = createBrowser();
    const tab = openTab();
    tab.signIn("ann");
    tab.write("", "Answer as a spy.");
    expect(readStored()).toContain("spy");
    tab.clear();
    expect([tab.read(""), readStored()]).toEqual([undefined, "{}"]);
  });

  it("keeps the prompts of other tabs, and forgets those that they sent", () => {
    const { openTab } = createBrowser();
    const [first, second] = [openTab(), openTab()];
    for (const tab of [first, second]) tab.signIn("ann");
    first.write("", "Be brief.");
    first.write("s", "Be kind.");
    // It has not noticed them yet.
    second.write("t", "Be exact.");
    const later = openTab();
    later.signIn("ann");
    expect(["", "s", "t"].map(later.read)).toEqual(["Be brief.", "Be kind.", "Be exact."]);
    second.load();
    expect(second.read("")).toBe("Be brief.");
    first.store.dispatch({ type: "instructions/sent", from: "", session: "n", text: "Be brief.", runId: "r" });
    first.store.dispatch({ type: "instructions/started", session: "n", runIds: new Set(["r"]) });
    second.load();
    expect(["", "n", "t"].map(second.read)).toEqual([undefined, undefined, "Be exact."]);
  });
});
