/** The drawing on a canvas under its camera, with a small map if there are many boxes. */
import { type PointerEvent, type ReactNode, useEffect, useLayoutEffect, useRef } from "react";
import { Button } from "../ui/button.tsx";
import { useWords } from "../ui/words.ts";
import { findVisible } from "./camera.ts";
import type { DrawingContent } from "./drawing-content.ts";
import { widen } from "./drawn-region.ts";
import { DrawnSheet } from "./drawn-sheet.tsx";
import { listenToGestures } from "./gestures.ts";
import { fitMini, MiniDrawing } from "./mini-drawing.tsx";
import { DRAWING_WORDS } from "./thoughts-words.ts";
import { useBoxKeys } from "./use-box-keys.ts";
import type { CanvasCamera } from "./use-camera.ts";

export interface CanvasStageProps {
  readonly content: DrawingContent;
  readonly camera: CanvasCamera;
}

/** A drawing with more boxes has a map. */
const MIN_MAPPED = 60;
const MARGIN_PX = 400;

export function CanvasStage({ content, camera }: CanvasStageProps): ReactNode {
  const words = useWords(DRAWING_WORDS);
  const stage = useRef<HTMLDivElement>(null);
  const { boxes } = content;
  const { onView, move, view } = camera;
  const { x, y, zoom } = camera.camera;
  useLayoutEffect(() => {
    const element = stage.current;
    if (element === null) return undefined;
    const measure = (): void => onView({ width: element.clientWidth, height: element.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [onView]);
  useEffect(() => (stage.current === null ? undefined : listenToGestures(stage.current, move)), [move]);
  const handleKey = useBoxKeys(content, stage, camera.reveal);
  return (
    <div className="loom-canvas-main">
      <div ref={stage} className="loom-canvas-stage" tabIndex={-1} onKeyDown={handleKey}>
        <DrawnSheet
          content={content}
          transform={`translate(${-x * zoom}px, ${-y * zoom}px) scale(${zoom})`}
          region={widen(findVisible(camera.camera, view), MARGIN_PX)}
          isSmooth={camera.isSmooth}
        />
      </div>
      {boxes.length > MIN_MAPPED ? <CanvasMap content={content} camera={camera} /> : null}
      {content.isLive && camera.isMoved ? (
        <div className="loom-canvas-follow">
          <Button
            icon="last"
            onClick={() => {
              content.onDeselect();
              camera.release();
            }}
          >
            {words.follow}
          </Button>
        </div>
      ) : null}
    </div>
  );
}

const MAP = { least: { width: 64, height: 48 }, most: { width: 200, height: 160 } };
/** Largest share of the view. */
const MAP_SHARE = 0.25;

/** For pointers: with the keyboard, the focus moves from box to box. */
function CanvasMap({ content, camera }: CanvasStageProps): ReactNode {
  const { width, height } = content;
  const { left, top, right, bottom } = findVisible(camera.camera, camera.view);
  const size = fitMini(content, MAP.least, {
    width: Math.min(MAP.most.width, camera.view.width * MAP_SHARE),
    height: Math.min(MAP.most.height, camera.view.height * MAP_SHARE),
  });
  const go = (event: PointerEvent<HTMLDivElement>): void => {
    if (event.buttons === 0) return;
    const { left: from, top: above } = event.currentTarget.getBoundingClientRect();
    camera.centre({
      x: ((event.clientX - from) / size.width) * width,
      y: ((event.clientY - above) / size.height) * height,
    });
  };
  return (
    <div className="loom-canvas-map" aria-hidden="true">
      <div
        style={size}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          go(event);
        }}
        onPointerMove={go}
      >
        <MiniDrawing shape={content} size={size} />
        <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" focusable="false">
          <rect x={left} y={top} width={right - left} height={bottom - top} />
        </svg>
      </div>
    </div>
  );
}
