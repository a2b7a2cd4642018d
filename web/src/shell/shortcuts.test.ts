// Which key does what, and where none does.
import { describe, expect, it } from "vitest";
import { UNKNOWN_ACCESS } from "../store/access.ts";
import { findEscape, findShortcut, isOffered, type KeyPress, SHORTCUT_KEYS } from "./shortcuts.ts";

const PRESS: KeyPress = {
  key: "",
  code: "",
  altKey: false,
  ctrlKey: false,
  metaKey: false,
  shiftKey: false,
  isComposing: false,
  isTyping: false,
};

describe("findShortcut", () => {
  it("goes by the place of the key, as Alt writes other letters", () => {
    expect(findShortcut({ ...PRESS, altKey: true, code: "KeyN", key: "˜" })).toBe("new");
    expect(findShortcut({ ...PRESS, altKey: true, code: "KeyN", isTyping: "message" })).toBe("new");
    expect(findShortcut({ ...PRESS, altKey: true, code: "toString" })).toBeUndefined();
  });

  it("leaves what is typed alone", () => {
    expect(findShortcut({ ...PRESS, key: "?", shiftKey: true })).toBe("help");
    for (const isTyping of ["message", "field"] as const)
      expect(findShortcut({ ...PRESS, key: "?", shiftKey: true, isTyping })).toBeUndefined();
    expect(findShortcut({ ...PRESS, key: "n", code: "KeyN" })).toBeUndefined();
  });

  it("leaves an input method, and the browser's own keys, alone", () => {
    expect(findShortcut({ ...PRESS, key: "Escape", isComposing: true })).toBeUndefined();
    expect(findShortcut({ ...PRESS, key: "Escape" })).toBe("escape");
    expect(findShortcut({ ...PRESS, altKey: true, ctrlKey: true, code: "KeyN" })).toBeUndefined();
    expect(findShortcut({ ...PRESS, metaKey: true, key: "?" })).toBeUndefined();
  });

  it("is told of each shortcut once", () => {
    expect(new Set(SHORTCUT_KEYS.map(([shortcut]) => shortcut)).size).toBe(SHORTCUT_KEYS.length);
  });
});

it("stops the run with Escape from anywhere but another field, when nothing lies over the conversation", () => {
  const nothing = { isDrawerOpen: false, isCovered: false };
  const typing = [false, "message", "field"] as const;
  const press = (covers: typeof nothing): unknown => typing.map((isTyping) => findEscape({ isTyping }, covers));
  expect(press(nothing)).toEqual(["stop", "stop", undefined]);
  expect(press({ ...nothing, isCovered: true })).toEqual(Array(3).fill("close-inspector"));
  expect(press({ isDrawerOpen: true, isCovered: true })).toEqual(Array(3).fill("close-drawer"));
});

it("is offered to whoever may do it", () => {
  const offered = (access: Partial<typeof UNKNOWN_ACCESS>): string =>
    SHORTCUT_KEYS.flatMap(([name]) => (isOffered({ ...UNKNOWN_ACCESS, ...access }, name) ? [name] : [])).join(" ");
  expect(offered({ phase: "open" })).toBe(SHORTCUT_KEYS.map(([name]) => name).join(" "));
  expect(offered({ phase: "in", scopes: ["read"] })).toBe(
    "search next previous sidebar inspector knowledge escape help",
  );
  expect(offered({ phase: "shared" })).toBe("inspector escape help");
});
