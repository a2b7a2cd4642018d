/** A drawing without text, as a small picture. Hidden from screen readers. */
import { memo, type NamedExoticComponent, type ReactNode } from "react";
import type { DrawingShape, ViewportSize } from "./drawing-content.ts";

interface MiniDrawingProps {
  readonly shape: DrawingShape;
  readonly size: ViewportSize;
}

/** Returns the largest size within limits. A very long drawing is not drawn thinner than the least size. */
export function fitMini({ width, height }: DrawingShape, least: ViewportSize, most: ViewportSize): ViewportSize {
  const scale = Math.min(most.width / width, most.height / height);
  return { width: Math.max(least.width, width * scale), height: Math.max(least.height, height * scale) };
}

export const MiniDrawing: NamedExoticComponent<MiniDrawingProps> = memo(
  function MiniDrawing({ shape, size }: MiniDrawingProps): ReactNode {
    const { boxes, boxWidth, lines, width, height } = shape;
    return (
      <svg
        {...size}
        className="loom-mini"
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        aria-hidden="true"
        focusable="false"
      >
        {lines.map(({ key, d, className }) => (
          <path key={key} className={`loom-line ${className}`} d={d} />
        ))}
        {boxes.map(({ key, x, y, height: own, mark }) => (
          <rect key={key} data-mark={mark} x={x} y={y} width={boxWidth} height={own} rx={4} />
        ))}
      </svg>
    );
  },
  ({ shape: before, size }, { shape, size: next }) =>
    before.boxes === shape.boxes &&
    before.lines === shape.lines &&
    size.width === next.width &&
    size.height === next.height,
);
