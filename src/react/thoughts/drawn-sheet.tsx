/**
 * The lines and boxes of a drawing, scaled by a transform.
 *
 * Invariant: of many boxes, only those in the region, the followed and the focused one are rendered.
 */
import type { CSSProperties, ReactNode } from "react";
import type { DrawingContent } from "./drawing-content.ts";
import { intersects, type Region } from "./drawn-region.ts";

/** Up to this number, all boxes are in the document, so that a screen reader can read through them. */
const MAX_RENDERED = 600;
/** Narrower boxes leave out details. */
const NARROW_BOX_PX = 170;

export interface DrawnSheetProps {
  readonly content: DrawingContent;
  readonly transform: string;
  /** The visible part, and a margin around it. */
  readonly region: Region;
  readonly isSmooth?: boolean;
}

export function DrawnSheet({ content, transform, region, isSmooth = false }: DrawnSheetProps): ReactNode {
  const { label, role, boxes, boxWidth, lines, width, height, followed, current, renderBox } = content;
  const style: CSSProperties & { readonly "--loom-box-width": string } = {
    width,
    height,
    transform,
    "--loom-box-width": `${boxWidth}px`,
  };
  const isDrawn = (around: Region): boolean => boxes.length <= MAX_RENDERED || intersects(region, around);
  return (
    <div
      className="loom-drawing-sheet"
      data-narrow={boxWidth < NARROW_BOX_PX}
      data-smooth={isSmooth || undefined}
      style={style}
    >
      <svg className="loom-drawing-lines" aria-hidden="true" focusable="false">
        {lines.map(({ key, d, className, region: around }) =>
          isDrawn(around) ? <path key={key} className={`loom-line ${className}`} d={d} /> : null,
        )}
      </svg>
      <div role={role} aria-label={label}>
        {boxes.map(({ x, y, height: own }, position) =>
          position === current ||
          position === followed ||
          isDrawn({ left: x, top: y, right: x + boxWidth, bottom: y + own })
            ? renderBox(position)
            : null,
        )}
      </div>
    </div>
  );
}
