/** Handles the keyboard shortcuts of the page. */
import { useEffect } from "react";
import type { PageController } from "../effects/create-page-controller.ts";
import { type OpenOverlays, findEscape, findShortcut, isAvailable, type KeyPress, type Shortcut } from "./shortcuts.ts";

export interface ShortcutTargets {
  readonly toggleList: () => void;
  /** Shows the session list, so that its elements can be focused. */
  readonly showList: () => void;
  readonly isInspectorOnTop: OpenOverlays["isInspectorOnTop"];
}

const MESSAGE_BOX = "page-message";

export function useShortcuts(page: PageController, targets: ShortcutTargets): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.defaultPrevented) return;
      const press = readPress(event);
      const shortcut = findShortcut(press);
      // Open dialogs and menus handle keys themselves.
      if (shortcut === undefined || document.querySelector("dialog[open], :popover-open") !== null) return;
      if (!isAvailable(page.store.getSnapshot().access, shortcut)) return;
      if (shortcut === "escape") {
        // A repeated Escape may be the one that has just left a field.
        if (!event.repeat) handleEscape(page, press, targets);
        return;
      }
      event.preventDefault();
      runShortcut(page, targets, shortcut);
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

function handleEscape(page: PageController, press: KeyPress, { isInspectorOnTop }: ShortcutTargets): void {
  const { isDrawerOpen } = page.store.getSnapshot();
  switch (findEscape(press, { isDrawerOpen, isInspectorOnTop })) {
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

function runShortcut(
  page: PageController,
  { toggleList, showList }: ShortcutTargets,
  shortcut: Exclude<Shortcut, "escape">,
): void {
  const { inspector } = page.store.getSnapshot();
  switch (shortcut) {
    case "help":
      page.dispatch({ type: "dialog/opened", dialog: "shortcuts" });
      return;
    case "knowledge":
    case "palette":
      page.dispatch({ type: "dialog/opened", dialog: shortcut });
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

/** Focuses an element after the next render. */
export function focusSoon(id: string): void {
  requestAnimationFrame(() => document.getElementById(id)?.focus());
}

/** Focuses the message box, or the conversation on touch devices, where the on-screen keyboard would cover it. */
export function focusConversation(): void {
  if (matchMedia("(hover: hover)").matches) focusSoon(MESSAGE_BOX);
  else requestAnimationFrame(() => document.querySelector<HTMLElement>(".loom-conversation-scroller")?.focus());
}
