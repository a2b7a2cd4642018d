import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Camera,
  findHome,
  findReading,
  findVisible,
  fitCamera,
  keepInView,
  panBy,
  revealRegion,
  zoomAt,
} from "./camera.ts";
import { contains, intersects, type Region } from "./drawn-region.ts";

const VIEW = { width: 1000, height: 600 };
const size = fc.record({ width: fc.integer({ min: 100, max: 20_000 }), height: fc.integer({ min: 40, max: 20_000 }) });
const camera: fc.Arbitrary<Camera> = fc.record({
  x: fc.integer({ min: -5000, max: 20_000 }),
  y: fc.integer({ min: -5000, max: 20_000 }),
  zoom: fc.double({ min: 0.05, max: 2.5, noNaN: true }),
});
const region: fc.Arbitrary<Region> = fc
  .tuple(fc.integer({ min: 0, max: 20_000 }), fc.integer({ min: 0, max: 20_000 }))
  .map(([left, top]) => ({ left, top, right: left + 280, bottom: top + 58 }));

/** Where a point of the drawing is on the screen. */
function project({ x, y, zoom }: Camera, at: { readonly x: number; readonly y: number }): readonly [number, number] {
  return [(at.x - x) * zoom, (at.y - y) * zoom];
}

describe("the camera of a canvas", () => {
  it("fits the whole drawing", () => {
    expect(findVisible(fitCamera({ width: 500, height: 300 }, VIEW), VIEW)).toEqual({
      left: -250,
      top: -150,
      right: 750,
      bottom: 450,
    });
    fc.assert(
      fc.property(size, (drawn) => {
        const whole = { left: 0, top: 0, right: drawn.width, bottom: drawn.height };
        const fitted = fitCamera(drawn, VIEW);
        expect(fitted.zoom).toBeLessThanOrEqual(1);
        if (fitted.zoom > 0.05) expect(contains(findVisible(fitted, VIEW), whole)).toBe(true);
      }),
    );
  });

  it("starts with readable text around the target", () => {
    fc.assert(
      fc.property(size, fc.double({ min: 0, max: 1, noNaN: true }), (drawn, share) => {
        const middle = { x: drawn.width * share, y: drawn.height * share };
        const target = { left: middle.x, top: middle.y, right: middle.x, bottom: middle.y };
        const home = findHome(drawn, VIEW, target);
        expect(home.zoom).toBeGreaterThanOrEqual(0.75);
        expect(intersects(findVisible(home, VIEW), target)).toBe(true);
      }),
    );
  });

  it("zooms around a point, within limits", () => {
    fc.assert(
      fc.property(camera, fc.double({ min: 0.01, max: 100, noNaN: true }), (before, factor) => {
        const at = { x: 300, y: 200 };
        const after = zoomAt(before, factor, at);
        const point = { x: before.x + at.x / before.zoom, y: before.y + at.y / before.zoom };
        const [x, y] = project(after, point);
        expect(x).toBeCloseTo(at.x, 3);
        expect(y).toBeCloseTo(at.y, 3);
        expect(after.zoom).toBeGreaterThanOrEqual(0.05);
        expect(after.zoom).toBeLessThanOrEqual(2.5);
      }),
    );
  });

  it("pans by pixels of the screen and keeps a part of the drawing in view", () => {
    expect(panBy({ x: 10, y: 20, zoom: 0.5 }, { x: 5, y: -5 })).toEqual({ x: 20, y: 10, zoom: 0.5 });
    fc.assert(
      fc.property(camera, size, (before, drawn) => {
        const kept = findVisible(keepInView(before, drawn, VIEW), VIEW);
        expect(intersects(kept, { left: 0, top: 0, right: drawn.width, bottom: drawn.height })).toBe(true);
      }),
    );
  });

  it("shows a region, moves only if needed, and zooms in to read it", () => {
    const shown = { x: 0, y: 0, zoom: 1 };
    const near = { left: 100, top: 100, right: 380, bottom: 158 };
    expect(revealRegion(shown, VIEW, near)).toEqual(shown);
    expect(findReading(shown, VIEW, near, true)).toEqual(shown);
    fc.assert(
      fc.property(camera, region, fc.boolean(), (before, target, needsText) => {
        const after = findReading(before, VIEW, target, needsText);
        expect(after.zoom).toBeCloseTo(needsText ? Math.max(0.75, before.zoom) : before.zoom, 6);
        expect(contains(widenBy(findVisible(after, VIEW), 1e-6), target)).toBe(true);
        expect(contains(widenBy(findVisible(revealRegion(before, VIEW, target), VIEW), 1e-6), target)).toBe(true);
      }),
    );
  });
});

function widenBy({ left, top, right, bottom }: Region, by: number): Region {
  return { left: left - by, top: top - by, right: right + by, bottom: bottom + by };
}
