/** Carries out what the keyboard asks for, wherever the focus is. */
import { useEffect } from "react";
import type { Page } from "../effects/create-page.ts";
import { findShortcut, isOffered, type KeyPress, type Shortcut } from "./shortcuts.ts";

export interface ShortcutTargets {
  readonly toggleList: () => void;
  /** Makes the list of sessions visible, so that something in it can be focused. */
  readonly showList: () => void;
  /** The inspector lies over the conversation. */
  readonly isCovered: boolean;
}

export function useShortcuts(page: Page, targets: ShortcutTargets): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.defaultPrevented) return;
      const shortcut = findShortcut(readPress(event));
      // A window above the page has the keyboard to itself.
      if (shortcut === undefined || document.querySelector("dialog[open], :popover-open") !== null) return;
      if (!isOffered(page.store.getSnapshot().access, shortcut)) return;
      if (shortcut !== "escape") event.preventDefault();
      carryOut(page, targets, shortcut);
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  });
}

function readPress(event: KeyboardEvent): KeyPress {
  const { key, code, altKey, ctrlKey, metaKey, shiftKey, isComposing, target } = event;
  const isTyping =
    target instanceof HTMLElement && target.closest("input, textarea, select, [contenteditable]") !== null;
  return { key, code, altKey, ctrlKey, metaKey, shiftKey, isComposing, isTyping };
}

function carryOut(page: Page, { toggleList, showList, isCovered }: ShortcutTargets, shortcut: Shortcut): void {
  const { inspector, isDrawerOpen } = page.store.getSnapshot();
  switch (shortcut) {
    case "help":
      page.dispatch({ type: "dialog/opened", dialog: "shortcuts" });
      return;
    case "knowledge":
      page.dispatch({ type: "dialog/opened", dialog: "knowledge" });
      return;
    case "new":
      page.open(undefined);
      focusSoon("page-message");
      return;
    case "compose":
      focusSoon("page-message");
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
    case "escape":
      if (isDrawerOpen) page.dispatch({ type: "drawer/toggled", isOpen: false });
      else if (isCovered) page.dispatch({ type: "inspector/closed" });
      else void page.stop();
      return;
  }
}

/** When what was asked for has been rendered. */
export function focusSoon(id: string): void {
  requestAnimationFrame(() => document.getElementById(id)?.focus());
}

/** Where one writes; without a keyboard of its own a screen would be half covered by one, so there where one reads. */
export function focusConversation(): void {
  if (matchMedia("(hover: hover)").matches) focusSoon("page-message");
  else requestAnimationFrame(() => document.querySelector<HTMLElement>(".loom-conversation-scroller")?.focus());
}
