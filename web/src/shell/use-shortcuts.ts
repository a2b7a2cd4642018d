/** Carries out what the keyboard asks for, wherever the focus is. */
import { useEffect } from "react";
import type { Page } from "../effects/create-page.ts";
import { type Covers, findEscape, findShortcut, isOffered, type KeyPress, type Shortcut } from "./shortcuts.ts";

export interface ShortcutTargets {
  readonly toggleList: () => void;
  /** Makes the list of sessions visible, so that something in it can be focused. */
  readonly showList: () => void;
  readonly isCovered: Covers["isCovered"];
}

const MESSAGE_BOX = "page-message";

export function useShortcuts(page: Page, targets: ShortcutTargets): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.defaultPrevented) return;
      const press = readPress(event);
      const shortcut = findShortcut(press);
      // A window above the page has the keyboard to itself.
      if (shortcut === undefined || document.querySelector("dialog[open], :popover-open") !== null) return;
      if (!isOffered(page.store.getSnapshot().access, shortcut)) return;
      if (shortcut === "escape") {
        // A key that is held has been answered: by a field, say, that it was left with.
        if (!event.repeat) answerEscape(page, press, targets);
        return;
      }
      event.preventDefault();
      carryOut(page, targets, shortcut);
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  });
}

function readPress(event: KeyboardEvent): KeyPress {
  const { key, code, altKey, ctrlKey, metaKey, shiftKey, isComposing, target } = event;
  const field = target instanceof HTMLElement ? target.closest("input, textarea, select, [contenteditable]") : null;
  const isTyping = field === null ? false : field.id === MESSAGE_BOX ? "message" : "field";
  return { key, code, altKey, ctrlKey, metaKey, shiftKey, isComposing, isTyping };
}

function answerEscape(page: Page, press: KeyPress, { isCovered }: ShortcutTargets): void {
  const { isDrawerOpen } = page.store.getSnapshot();
  switch (findEscape(press, { isDrawerOpen, isCovered })) {
    case "close-drawer":
      page.dispatch({ type: "drawer/toggled", isOpen: false });
      return;
    case "close-inspector":
      page.dispatch({ type: "inspector/closed" });
      return;
    case "stop":
      void page.stop();
      return;
    case undefined:
      return;
  }
}

function carryOut(page: Page, { toggleList, showList }: ShortcutTargets, shortcut: Exclude<Shortcut, "escape">): void {
  const { inspector } = page.store.getSnapshot();
  switch (shortcut) {
    case "help":
      page.dispatch({ type: "dialog/opened", dialog: "shortcuts" });
      return;
    case "knowledge":
      page.dispatch({ type: "dialog/opened", dialog: "knowledge" });
      return;
    case "new":
      page.open(undefined);
      focusSoon(MESSAGE_BOX);
      return;
    case "compose":
      focusSoon(MESSAGE_BOX);
      return;
    case "search":
      showList();
      focusSoon("page-search");
      return;
    case "sidebar":
      toggleList();
      return;
    case "inspector":
      page.dispatch(
        inspector === undefined ? { type: "inspector/opened", focus: undefined } : { type: "inspector/closed" },
      );
      return;
    case "next":
      page.step(1);
      return;
    case "previous":
      page.step(-1);
      return;
  }
}

/** When what was asked for has been rendered. */
export function focusSoon(id: string): void {
  requestAnimationFrame(() => document.getElementById(id)?.focus());
}

/** Where one writes; without a keyboard of its own a screen would be half covered by one, so there where one reads. */
export function focusConversation(): void {
  if (matchMedia("(hover: hover)").matches) focusSoon(MESSAGE_BOX);
  else requestAnimationFrame(() => document.querySelector<HTMLElement>(".loom-conversation-scroller")?.focus());
}
