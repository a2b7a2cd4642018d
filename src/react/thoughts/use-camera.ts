/**
 * The camera of a canvas. Until the user moves it, it shows the whole drawing, or the part around the followed box. It
 * then keeps what the user looks at: a box that moves in the layout stays where it is on the screen.
 */
import { useCallback, useLayoutEffect, useRef, useState } from "react";
import {
  type Camera,
  centreOn,
  fitCamera,
  findHome,
  findReading,
  keepInView,
  panBy,
  revealRegion,
  zoomAt,
} from "./camera.ts";
import type { DrawnBox, DrawingContent, ViewportSize } from "./drawing-content.ts";
import type { Region } from "./drawn-region.ts";
import type { MoveCamera } from "./gestures.ts";
import type { Point } from "./grid.ts";

export interface CanvasCamera {
  readonly camera: Camera;
  /** Changes are animated. */
  readonly isSmooth: boolean;
  /** The user moved the camera, so it no longer follows the latest box. */
  readonly isMoved: boolean;
  readonly view: ViewportSize;
  readonly onView: (view: ViewportSize) => void;
  /** Moves with a pointer, so it is not animated. */
  readonly move: MoveCamera;
  zoom(factor: number): void;
  pan(by: Point): void;
  fit(): void;
  /** Puts a point of the drawing in the middle. */
  centre(at: Point): void;
  readonly reveal: (position: number) => void;
  /** Shows the first view again, and follows the latest box. */
  release(): void;
}

interface MovedCamera {
  readonly camera: Camera;
  readonly isSmooth: boolean;
}

/**
 * `isSelected`: the followed box is selected and is brought into view. `finds` counts the searches, which show it large
 * enough to be read.
 */
export function useCamera(content: DrawingContent, isSelected: boolean, finds: number): CanvasCamera {
  const { boxes, boxWidth, width, height, followed, current } = content;
  const [view, setView] = useState<ViewportSize>();
  const [moved, setMoved] = useState<MovedCamera>();
  const shownView = view ?? content.viewport;
  const target = boxes[followed];
  // A selection does not move the first view; it is brought into view below.
  const lastHome = useRef<Camera>(undefined);
  const before = lastHome.current;
  const keepsHome = isSelected && before !== undefined && view !== undefined;
  const home = keepsHome ? before : findHome({ width, height }, shownView, locateBox(target, boxWidth));
  const camera = moved?.camera ?? home;

  const latest = useRef({ camera, size: { width, height }, view: shownView });
  useLayoutEffect(() => {
    lastHome.current = home;
    latest.current = { camera, size: { width, height }, view: shownView };
  });
  const change = useCallback((to: (camera: Camera, view: ViewportSize) => Camera, isSmooth: boolean) => {
    const now = latest.current;
    const next = keepInView(to(now.camera, now.view), now.size, now.view);
    // Several changes may come before the next render.
    latest.current = { ...now, camera: next };
    setMoved({ camera: next, isSmooth });
  }, []);
  const move = useCallback<MoveCamera>((to) => change(to, false), [change]);
  const reveal = useCallback(
    (position: number) => {
      const box = boxes[position];
      if (box !== undefined) change((now, within) => revealRegion(now, within, locateBox(box, boxWidth)), true);
    },
    [boxes, boxWidth, change],
  );

  const lastFinds = useRef(finds);
  useLayoutEffect(() => {
    const isFound = finds !== lastFinds.current;
    lastFinds.current = finds;
    if (!isSelected || view === undefined || target === undefined) return;
    change((now, within) => findReading(now, within, locateBox(target, boxWidth), isFound), true);
    // Not when the boxes or the camera move: the user decides what is in view.
  }, [isSelected, target?.key, view?.width, view?.height, finds]);

  const anchor = useRef<DrawnBox>(undefined);
  const box = boxes[current];
  useLayoutEffect(() => {
    const before = anchor.current;
    anchor.current = box;
    if (before === undefined || box === undefined || before.key !== box.key || moved === undefined) return;
    const [x, y] = [box.x - before.x, box.y - before.y];
    if (x !== 0 || y !== 0) change((now) => ({ ...now, x: now.x + x, y: now.y + y }), false);
  }, [box]);

  return {
    camera,
    isSmooth: view !== undefined && moved?.isSmooth !== false,
    isMoved: moved !== undefined,
    view: shownView,
    onView: setView,
    move,
    zoom: (factor) => change((now, within) => zoomAt(now, factor, { x: within.width / 2, y: within.height / 2 }), true),
    pan: (by) => change((now) => panBy(now, by), true),
    fit: () => change((_, within) => fitCamera(latest.current.size, within), true),
    centre: (at) => change((now, within) => centreOn(now, within, at), false),
    reveal,
    release: () => setMoved(undefined),
  };
}

function locateBox(box: DrawnBox | undefined, boxWidth: number): Region {
  if (box === undefined) return { left: 0, top: 0, right: 0, bottom: 0 };
  return { left: box.x, top: box.y, right: box.x + boxWidth, bottom: box.y + box.height };
}
