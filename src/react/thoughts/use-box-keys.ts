/** Arrow keys between the boxes of a drawing: one box is in the tab order, and the focus moves from box to box. */
import { type KeyboardEvent, type RefObject, useLayoutEffect, useRef } from "react";
import type { DrawingContent } from "./drawing-content.ts";
import { findNeighbour, isMoveKey } from "./find-neighbour.ts";

/** Returns the handler of keys. `onMoved` is called when the focus has moved to a box, to bring it into view. */
export function useBoxKeys(
  { boxes, current, onMove, onKey }: DrawingContent,
  root: RefObject<HTMLElement | null>,
  onMoved: (position: number) => void,
): (event: KeyboardEvent) => void {
  const wantsFocus = useRef(false);
  useLayoutEffect(() => {
    if (!wantsFocus.current) return;
    wantsFocus.current = false;
    focusBox(root.current, current);
    onMoved(current);
  }, [current, onMoved, root]);
  return (event) => {
    const position = readPosition(event.target);
    if (position === undefined || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const next = isMoveKey(event.key) ? findNeighbour(boxes, position, event.key) : position;
    if (isMoveKey(event.key)) event.preventDefault();
    if (next === position) {
      onKey(event, position);
      return;
    }
    wantsFocus.current = true;
    onMove(next);
  };
}

export function focusBox(root: HTMLElement | null, position: number): void {
  root?.querySelector<HTMLElement>(`[data-box="${position}"]`)?.focus({ preventScroll: true });
}

/** Returns the position of the box that an event comes from. */
export function readPosition(target: EventTarget): number | undefined {
  const box = target instanceof Element ? target.closest<HTMLElement>("[data-box]") : null;
  return box === null ? undefined : Number(box.dataset["box"]);
}
