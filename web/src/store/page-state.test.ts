// The whole state: panels, notices, settings; and what concerns several rooms at once.
import { describe, expect, it } from "vitest";
import { createPageState, type PageAction, type PageState, reducePage } from "./page-state.ts";
import { type Keeper, keepSettings, readSettings, type Settings, SETTINGS_KEY } from "./settings.ts";

const SETTINGS: Settings = { language: "en", theme: "system", hasSidebar: true };
const run = (...actions: PageAction[]): PageState => actions.reduce(reducePage, createPageState(SETTINGS));

describe("the state of the page", () => {
  it("closes what belongs to a session when another is opened, and only then", () => {
    const place = { turn: "t", kind: "turn", key: "" } as const;
    const state = run(
      { type: "session/opened", session: "a" },
      { type: "drawer/toggled", isOpen: true },
      { type: "inspector/opened", focus: place },
    );
    expect(reducePage(state, { type: "session/opened", session: "a" }).inspector?.focus).toBe(place);
    const other = reducePage(state, { type: "session/opened", session: "b" });
    expect([other.isDrawerOpen, other.inspector, other.sessions.current]).toEqual([false, undefined, "b"]);
  });

  it("tells the same trouble once, and few at a time", () => {
    const trouble = (code: string): PageAction => ({ type: "notice/raised", task: "rename", code, message: code });
    expect(run(trouble("a"), trouble("a")).notices).toHaveLength(1);
    const many = run(...["a", "b", "c", "d", "e", "f"].map(trouble)).notices;
    expect(many.map(({ code }) => code)).toEqual(["c", "d", "e", "f"]);
    expect(new Set(many.map(({ id }) => id)).size).toBe(4);
    const [first] = many;
    expect(reducePage(run(trouble("a")), { type: "notice/closed", id: 1 }).notices).toEqual([]);
    expect(first?.id).toBe(3);
  });

  it("says the same twice as two things", () => {
    const said: PageAction = { type: "said", what: "complete", detail: "" };
    expect(run(said).announcement?.count).toBe(1);
    expect(run(said, said).announcement?.count).toBe(2);
  });

  it("leaves what an action does not concern as it is", () => {
    const before = run({ type: "session/opened", session: "a" });
    const after = reducePage(before, { type: "language/chosen", language: "zh" });
    expect(after.sessions).toBe(before.sessions);
    expect(after.composing).toBe(before.composing);
    expect(after.settings).toEqual({ ...SETTINGS, language: "zh" });
  });
});

describe("settings", () => {
  const keep = (value: string | null): Keeper => ({ getItem: () => value, setItem: () => undefined });

  it("are as the browser prefers at first, and as they were set then", () => {
    expect(readSettings(keep(null), "zh")).toEqual({ ...SETTINGS, language: "zh" });
    const kept = { language: "en", theme: "dark", hasSidebar: false, kind: "tot", model: "offline" };
    expect(readSettings(keep(JSON.stringify(kept)), "zh")).toEqual(kept);
  });

  it.each(["", "null", "[]", "7", "{", '{"language":"xx","theme":1,"hasSidebar":"no","kind":{},"model":[]}'])(
    "are the usual ones where %j was kept",
    (value) => expect(readSettings(keep(value), "en")).toEqual(SETTINGS),
  );

  it("do without a browser that keeps nothing", () => {
    const refusing: Keeper = {
      getItem() {
        throw new Error("no");
      },
      setItem() {
        throw new Error("no");
      },
    };
    expect(readSettings(refusing, "en")).toEqual(SETTINGS);
    expect(() => keepSettings(refusing, SETTINGS)).not.toThrow();
    expect(readSettings(undefined, "en")).toEqual(SETTINGS);
  });

  it("come back as they were kept", () => {
    const box = new Map<string, string>();
    const keeper: Keeper = {
      getItem: (key) => box.get(key) ?? null,
      setItem: (key, value) => void box.set(key, value),
    };
    keepSettings(keeper, { ...SETTINGS, theme: "light" });
    expect([...box.keys()]).toEqual([SETTINGS_KEY]);
    expect(readSettings(keeper, "zh").theme).toBe("light");
  });
});
