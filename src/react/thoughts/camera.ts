/** The part of a drawing that a canvas shows. Pure functions; sizes and points of the view are in screen pixels. */
import type { ViewportSize } from "./drawing-content.ts";
import { type Region, reveal } from "./drawn-region.ts";
import type { Point } from "./grid.ts";

export interface Camera {
  /** Point of the drawing in the top left corner of the view. */
  readonly x: number;
  readonly y: number;
  readonly zoom: number;
}

const ZOOM = { least: 0.05, most: 2.5 };
/** Zoom of the first view: text can be read. */
const HOME_ZOOM = { least: 0.75, most: 1 };
/** Space around a drawing or a box, in pixels of the screen. */
const AROUND_PX = 24;
/** How much of the drawing stays in view. */
const KEPT_PX = 80;

/** Shows the whole drawing, in the middle of the view. */
export function fitCamera(size: ViewportSize, view: ViewportSize): Camera {
  return centre(size, view, Math.max(ZOOM.least, Math.min(HOME_ZOOM.most, measureFit(size, view))));
}

/** Shows the whole drawing if its text can then be read, else the part around the target. */
export function findHome(size: ViewportSize, view: ViewportSize, target: Region): Camera {
  const zoom = Math.min(HOME_ZOOM.most, Math.max(HOME_ZOOM.least, measureFit(size, view)));
  const middle = centre(size, view, zoom);
  return {
    x: middle.x <= 0 ? middle.x : findStart(size.width, view.width, zoom, (target.left + target.right) / 2),
    y: middle.y <= 0 ? middle.y : findStart(size.height, view.height, zoom, (target.top + target.bottom) / 2),
    zoom,
  };
}

function measureFit(size: ViewportSize, view: ViewportSize): number {
  return Math.min((view.width - 2 * AROUND_PX) / size.width, (view.height - 2 * AROUND_PX) / size.height);
}

function centre(size: ViewportSize, view: ViewportSize, zoom: number): Camera {
  return { x: (size.width - view.width / zoom) / 2, y: (size.height - view.height / zoom) / 2, zoom };
}

/** Puts the middle of the target in the middle of the view, without space beyond the ends of the drawing. */
function findStart(size: number, view: number, zoom: number, middle: number): number {
  const shown = view / zoom;
  const around = AROUND_PX / zoom;
  return Math.min(size + around - shown, Math.max(-around, middle - shown / 2));
}

/** Zooms by a factor. The point of the view stays where it is. */
export function zoomAt({ x, y, zoom }: Camera, factor: number, at: Point): Camera {
  const next = Math.min(ZOOM.most, Math.max(ZOOM.least, zoom * factor));
  return { x: x + at.x / zoom - at.x / next, y: y + at.y / zoom - at.y / next, zoom: next };
}

/** Moves the view by pixels of the screen. */
export function panBy({ x, y, zoom }: Camera, by: Point): Camera {
  return { x: x + by.x / zoom, y: y + by.y / zoom, zoom };
}

/** Puts a point of the drawing in the middle of the view. */
export function centreOn({ zoom }: Camera, view: ViewportSize, { x, y }: Point): Camera {
  return { x: x - view.width / zoom / 2, y: y - view.height / zoom / 2, zoom };
}

/** Zooms until text can be read, and moves the view only if the region is not in it. */
export function findReading(camera: Camera, view: ViewportSize, region: Region, needsText: boolean): Camera {
  const factor = needsText ? Math.max(1, HOME_ZOOM.least / camera.zoom) : 1;
  const near = zoomAt(camera, factor, { x: view.width / 2, y: view.height / 2 });
  const shown = revealRegion(near, view, region);
  if (shown.x === near.x && shown.y === near.y) return near;
  return centreOn(near, view, { x: (region.left + region.right) / 2, y: (region.top + region.bottom) / 2 });
}

/** Moves the view as little as needed to show the region. */
export function revealRegion(camera: Camera, view: ViewportSize, region: Region): Camera {
  const { x, y, zoom } = camera;
  const around = AROUND_PX / zoom;
  return {
    x: reveal(x, view.width / zoom, region.left, region.right, around),
    y: reveal(y, view.height / zoom, region.top, region.bottom, around),
    zoom,
  };
}

/** Keeps a part of the drawing in view. */
export function keepInView({ x, y, zoom }: Camera, size: ViewportSize, view: ViewportSize): Camera {
  const kept = KEPT_PX / zoom;
  const hold = (at: number, length: number, shown: number): number =>
    Math.min(Math.max(at, kept - shown), length - kept);
  return { x: hold(x, size.width, view.width / zoom), y: hold(y, size.height, view.height / zoom), zoom };
}

/** Returns the region of the drawing that is in view. */
export function findVisible({ x, y, zoom }: Camera, view: ViewportSize): Region {
  return { left: x, top: y, right: x + view.width / zoom, bottom: y + view.height / zoom };
}
