/**
 * Keyboard shortcuts of the page. Shortcuts with Alt also work while typing. They use the physical key, because the
 * character that Alt types depends on the keyboard layout.
 *
 * Invariant: Escape in an input field does not stop a run, except in the message box.
 */
import { type AccessState, may } from "../store/access.ts";

export type Shortcut =
  | "help"
  | "new"
  | "compose"
  | "search"
  | "sidebar"
  | "inspector"
  | "next"
  | "previous"
  | "knowledge"
  | "palette"
  | "escape";

export interface KeyPress {
  readonly key: string;
  readonly code: string;
  readonly altKey: boolean;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly shiftKey: boolean;
  readonly isComposing: boolean;
  /** Where the user is typing: the message box, another field, or neither. */
  readonly isTyping: false | "message" | "field";
}

const WITH_ALT: { readonly [code: string]: Shortcut } = {
  KeyN: "new",
  KeyC: "compose",
  KeyK: "search",
  KeyS: "sidebar",
  KeyI: "inspector",
  KeyB: "knowledge",
  ArrowDown: "next",
  ArrowUp: "previous",
  Slash: "help",
};

/** In display order. */
export const SHORTCUT_KEYS: readonly (readonly [Shortcut, readonly string[]])[] = [
  ["palette", ["Ctrl", "K"]],
  ["new", ["Alt", "N"]],
  ["compose", ["Alt", "C"]],
  ["search", ["Alt", "K"]],
  ["next", ["Alt", "↓"]],
  ["previous", ["Alt", "↑"]],
  ["sidebar", ["Alt", "S"]],
  ["inspector", ["Alt", "I"]],
  ["knowledge", ["Alt", "B"]],
  ["escape", ["Esc"]],
  ["help", ["?"]],
];

export function findShortcut(press: KeyPress): Shortcut | undefined {
  const { key, code, altKey, ctrlKey, metaKey, shiftKey, isComposing, isTyping } = press;
  if (isComposing) return undefined;
  // As in other programs. The physical key, so that it also works with other scripts.
  if (ctrlKey !== metaKey && !altKey && !shiftKey && code === "KeyK") return "palette";
  if (ctrlKey || metaKey) return undefined;
  if (altKey) return shiftKey || !Object.hasOwn(WITH_ALT, code) ? undefined : WITH_ALT[code];
  if (key === "Escape") return "escape";
  return key === "?" && isTyping === false ? "help" : undefined;
}

export interface OpenOverlays {
  readonly isDrawerOpen: boolean;
  /** The inspector covers the conversation. */
  readonly isInspectorOnTop: boolean;
}

/** Closes overlays first. Returns undefined if Escape belongs to the focused field. */
export function findEscape(
  { isTyping }: Pick<KeyPress, "isTyping">,
  { isDrawerOpen, isInspectorOnTop }: OpenOverlays,
): "close-drawer" | "close-inspector" | "stop" | undefined {
  if (isDrawerOpen) return "close-drawer";
  if (isInspectorOnTop) return "close-inspector";
  return isTyping === "field" ? undefined : "stop";
}

/** Whether the user's scopes allow the shortcut. */
export function isAvailable(access: AccessState, shortcut: Shortcut): boolean {
  switch (shortcut) {
    case "new":
    case "compose":
      return may(access, "run");
    case "search":
    case "next":
    case "previous":
    case "knowledge":
      return may(access, "read");
    case "sidebar":
      return access.phase !== "shared";
    case "inspector":
    case "palette":
    case "escape":
    case "help":
      return true;
  }
}
