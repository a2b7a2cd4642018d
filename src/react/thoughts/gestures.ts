/** Gestures on a canvas: the wheel zooms, dragging pans, two fingers do both. Calls back with changes of the camera. */
import { type Camera, panBy, zoomAt } from "./camera.ts";
import type { Point } from "./grid.ts";

export type MoveCamera = (change: (camera: Camera) => Camera) => void;

/** A press that moves less is a click. */
const DRAG_PX = 5;
/** Change of zoom per pixel of a wheel; a trackpad reports pinches as a wheel with Ctrl, in small steps. */
const WHEEL_RATE = 0.0015;
const PINCH_RATE = 0.01;
/** Pixels per unit of `WheelEvent.deltaMode`. */
const WHEEL_UNITS = [1, 16, 400];

/** Returns a function that stops listening. */
export function listenToGestures(stage: HTMLElement, move: MoveCamera): () => void {
  const over = new AbortController();
  const { signal } = over;
  const pressed = new Map<number, Point>();
  let isDragging = false;
  const locate = ({ clientX, clientY }: MouseEvent): Point => {
    const { left, top } = stage.getBoundingClientRect();
    return { x: clientX - left, y: clientY - top };
  };
  const release = ({ pointerId }: PointerEvent): void => {
    pressed.delete(pointerId);
    if (pressed.size === 0) isDragging = false;
  };

  // Not passive, so that the page neither scrolls nor zooms.
  stage.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const unit = WHEEL_UNITS[event.deltaMode] ?? 1;
      const [x, y] = [event.deltaX * unit, event.deltaY * unit];
      const isSideways = Math.abs(x) > Math.abs(y);
      if (event.ctrlKey) move((camera) => zoomAt(camera, Math.exp(-y * PINCH_RATE), locate(event)));
      else if (event.shiftKey || isSideways) move((camera) => panBy(camera, isSideways ? { x, y } : { x: y, y: 0 }));
      else move((camera) => zoomAt(camera, Math.exp(-y * WHEEL_RATE), locate(event)));
    },
    { signal, passive: false },
  );
  stage.addEventListener(
    "pointerdown",
    (event) => {
      if (event.button === 0) pressed.set(event.pointerId, locate(event));
    },
    { signal },
  );
  stage.addEventListener(
    "pointermove",
    (event) => {
      const before = pressed.get(event.pointerId);
      if (before === undefined) return;
      if (event.buttons === 0) {
        release(event);
        return;
      }
      const at = locate(event);
      const [other] = [...pressed].filter(([pointer]) => pointer !== event.pointerId).map(([, point]) => point);
      if (!isDragging) {
        if (other === undefined && measureDistance(before, at) < DRAG_PX) return;
        isDragging = true;
      }
      // A captured pointer clicks no box when it is released.
      stage.setPointerCapture(event.pointerId);
      pressed.set(event.pointerId, at);
      move((camera) => {
        if (other === undefined) return panBy(camera, { x: before.x - at.x, y: before.y - at.y });
        const [from, to] = [findMiddle(before, other), findMiddle(at, other)];
        const factor = measureDistance(at, other) / Math.max(1, measureDistance(before, other));
        return zoomAt(panBy(camera, { x: from.x - to.x, y: from.y - to.y }), factor, to);
      });
    },
    { signal },
  );
  for (const type of ["pointerup", "pointercancel"] as const) stage.addEventListener(type, release, { signal });
  return () => over.abort();
}

function measureDistance(a: Point, b: Point): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}

function findMiddle(a: Point, b: Point): Point {
  return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
}
