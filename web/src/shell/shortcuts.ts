/**
 * What the keyboard does anywhere on the page. Those with Alt work while one types; they go by the place of the key, as
 * what Alt writes differs from keyboard to keyboard.
 *
 * Invariant: Escape in a field stops no run, except where messages are written: the button that stops stands there.
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
  | "escape";

export interface KeyPress {
  readonly key: string;
  readonly code: string;
  readonly altKey: boolean;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly shiftKey: boolean;
  readonly isComposing: boolean;
  /** Something is being written where the key was pressed: a message, or what a field is for. */
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

/** In the order they are shown. */
export const SHORTCUT_KEYS: readonly (readonly [Shortcut, readonly string[]])[] = [
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
  if (isComposing || ctrlKey || metaKey) return undefined;
  if (altKey) return shiftKey || !Object.hasOwn(WITH_ALT, code) ? undefined : WITH_ALT[code];
  if (key === "Escape") return "escape";
  return key === "?" && isTyping === false ? "help" : undefined;
}

export interface Covers {
  readonly isDrawerOpen: boolean;
  /** The inspector lies over the conversation. */
  readonly isCovered: boolean;
}

/** What lies over the conversation goes first; undefined where Escape is the field's alone. */
export function findEscape(
  { isTyping }: Pick<KeyPress, "isTyping">,
  { isDrawerOpen, isCovered }: Covers,
): "close-drawer" | "close-inspector" | "stop" | undefined {
  if (isDrawerOpen) return "close-drawer";
  if (isCovered) return "close-inspector";
  return isTyping === "field" ? undefined : "stop";
}

/** What there is for whoever is here: of a session that is shared, the conversation alone. */
export function isOffered(access: AccessState, shortcut: Shortcut): boolean {
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
    case "escape":
    case "help":
      return true;
  }
}
