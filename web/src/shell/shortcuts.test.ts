// Keyboard shortcuts.
import { describe, expect, it } from "vitest";
import { UNKNOWN_ACCESS } from "../store/access.ts";
import { findEscape, findShortcut, isAvailable, type KeyPress, SHORTCUT_KEYS } from "./shortcuts.ts";

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
  it("uses the physical key, because Alt types other letters", () => {
    expect(findShortcut({ ...PRESS, altKey: true, code: "KeyN", key: "˜" })).toBe("new");
    expect(findShortcut({ ...PRESS, altKey: true, code: "KeyN", isTyping: "message" })).toBe("new");
    expect(findShortcut({ ...PRESS, altKey: true, code: "toString" })).toBeUndefined();
  });

  it("ignores typing", () => {
    expect(findShortcut({ ...PRESS, key: "?", shiftKey: true })).toBe("help");
    for (const isTyping of ["message", "field"] as const)
      expect(findShortcut({ ...PRESS, key: "?", shiftKey: true, isTyping })).toBeUndefined();
    expect(findShortcut({ ...PRESS, key: "n", code: "KeyN" })).toBeUndefined();
  });

  it("ignores input methods and browser shortcuts", () => {
    expect(findShortcut({ ...PRESS, key: "Escape", isComposing: true })).toBeUndefined();
    expect(findShortcut({ ...PRESS, key: "Escape" })).toBe("escape");
    expect(findShortcut({ ...PRESS, altKey: true, ctrlKey: true, code: "KeyN" })).toBeUndefined();
    expect(findShortcut({ ...PRESS, metaKey: true, key: "?" })).toBeUndefined();
    for (const more of [{ ctrlKey: true }, { metaKey: true, isTyping: "message" as const }])
      expect(findShortcut({ ...PRESS, ...more, code: "KeyK" })).toBe("palette");
    expect(findShortcut({ ...PRESS, ctrlKey: true, shiftKey: true, code: "KeyK" })).toBeUndefined();
  });

  it("lists each shortcut once", () => {
    expect(new Set(SHORTCUT_KEYS.map(([shortcut]) => shortcut)).size).toBe(SHORTCUT_KEYS.length);
  });
});

it("Escape stops the run unless typed in another field or an overlay is open", () => {
  const nothing = { isDrawerOpen: false, isInspectorOnTop: false };
  const typing = [false, "message", "field"] as const;
  const press = (covers: typeof nothing): unknown => typing.map((isTyping) => findEscape({ isTyping }, covers));
  expect(press(nothing)).toEqual(["stop", "stop", undefined]);
  expect(press({ ...nothing, isInspectorOnTop: true })).toEqual(Array(3).fill("close-inspector"));
  expect(press({ isDrawerOpen: true, isInspectorOnTop: true })).toEqual(Array(3).fill("close-drawer"));
});

it("shortcuts are available according to scopes", () => {
  const offered = (access: Partial<typeof UNKNOWN_ACCESS>): string =>
    SHORTCUT_KEYS.flatMap(([name]) => (isAvailable({ ...UNKNOWN_ACCESS, ...access }, name) ? [name] : [])).join(" ");
  expect(offered({ phase: "open" })).toBe(SHORTCUT_KEYS.map(([name]) => name).join(" "));
  expect(offered({ phase: "signed-in", scopes: ["read"] })).toBe(
    "palette search next previous sidebar inspector knowledge escape help",
  );
  expect(offered({ phase: "shared" })).toBe("palette inspector escape help");
});
