// The whole page state: panels, notices, settings, and actions that change several slices.
import { describe, expect, it } from "vitest";
import { createPageState, type PageAction, type PageState, reducePage } from "./page-state.ts";
import { type KeyValueStorage, saveSettings, readSettings, type PageSettings, SETTINGS_KEY } from "./settings.ts";

const SETTINGS: PageSettings = { language: "en", theme: "system", hasSidebar: true };
const run = (...actions: PageAction[]): PageState => actions.reduce(reducePage, createPageState(SETTINGS));

describe("the page state", () => {
  it("closes the panels of a session when another is opened", () => {
    const target = { turn: "t", kind: "turn", key: "" } as const;
    const state = run(
      { type: "session/opened", session: "a" },
      { type: "drawer/toggled", isOpen: true },
      { type: "inspector/opened", focus: target },
    );
    expect(reducePage(state, { type: "session/opened", session: "a" }).inspector?.focus).toBe(target);
    const other = reducePage(state, { type: "session/opened", session: "b" });
    expect([other.isDrawerOpen, other.inspector, other.sessions.current]).toEqual([false, undefined, "b"]);
  });

  it("shows a repeated failure once, and a bounded number of notices", () => {
    const failure = (code: string): PageAction => ({ type: "notice/raised", task: "rename", code, message: code });
    expect(run(failure("a"), failure("a")).notices).toHaveLength(1);
    const many = run(...["a", "b", "c", "d", "e", "f"].map(failure)).notices;
    expect(many.map(({ code }) => code)).toEqual(["c", "d", "e", "f"]);
    expect(new Set(many.map(({ id }) => id)).size).toBe(4);
    const [first] = many;
    expect(reducePage(run(failure("a")), { type: "notice/closed", id: 1 }).notices).toEqual([]);
    expect(first?.id).toBe(3);
  });

  it("counts repeated announcements", () => {
    const announced: PageAction = { type: "announced", kind: "complete", detail: "" };
    expect(run(announced).announcement?.count).toBe(1);
    expect(run(announced, announced).announcement?.count).toBe(2);
  });

  it("keeps the identity of unchanged slices", () => {
    const before = run({ type: "session/opened", session: "a" });
    const after = reducePage(before, { type: "settings/changed", settings: { language: "zh" } });
    expect(after.sessions).toBe(before.sessions);
    expect(after.composing).toBe(before.composing);
    expect(after.settings).toEqual({ ...SETTINGS, language: "zh" });
  });
});

describe("settings", () => {
  const keep = (value: string | null): KeyValueStorage => ({ getItem: () => value, setItem: () => undefined });

  it("default to the browser's language, and are restored", () => {
    expect(readSettings(keep(null), "zh")).toEqual({ ...SETTINGS, language: "zh" });
    const prices = { "openai/gpt-5": { input: 1.25, output: 10 } };
    const stored = { language: "en", theme: "dark", hasSidebar: false, kind: "tot", model: "offline", prices };
    expect(readSettings(keep(JSON.stringify(stored)), "zh")).toEqual(stored);
    const damaged = { ...stored, prices: { ...prices, a: { input: "1", output: -1 }, b: null } };
    expect(readSettings(keep(JSON.stringify(damaged)), "zh")).toEqual(stored);
  });

  it.each(["", "null", "[]", "7", "{", '{"language":"xx","theme":1,"hasSidebar":"no","kind":{},"model":[]}'])(
    "fall back to defaults for %j",
    (value) => expect(readSettings(keep(value), "en")).toEqual(SETTINGS),
  );

  it("work without storage", () => {
    const refusing: KeyValueStorage = {
      getItem() {
        throw new Error("no");
      },
      setItem() {
        throw new Error("no");
      },
    };
    expect(readSettings(refusing, "en")).toEqual(SETTINGS);
    expect(() => saveSettings(refusing, SETTINGS)).not.toThrow();
    expect(readSettings(undefined, "en")).toEqual(SETTINGS);
  });

  it("are restored as stored", () => {
    const entries = new Map<string, string>();
    const storage: KeyValueStorage = {
      getItem: (key) => entries.get(key) ?? null,
      setItem: (key, value) => void entries.set(key, value),
    };
    saveSettings(storage, { ...SETTINGS, theme: "light" });
    expect([...entries.keys()]).toEqual([SETTINGS_KEY]);
    expect(readSettings(storage, "zh").theme).toBe("light");
  });
});
