/**
 * A drawing in a scrolling box. It follows the latest box until the user looks elsewhere, and supports arrow-key
 * navigation. It does not know about trees or graphs.
 *
 * Invariant: while the drawing is live, its height does not change.
 */
import { type PointerEvent, type ReactNode, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Button } from "../ui/button.tsx";
import { useWords } from "../ui/words.ts";
import type { DrawingContent, ViewportSize } from "./drawing-content.ts";
import { contains, INITIAL_REGION, type Region, reveal, widen } from "./drawn-region.ts";
import { DrawnSheet } from "./drawn-sheet.tsx";
import { DRAWING_WORDS } from "./thoughts-words.ts";
import { readPosition, useBoxKeys } from "./use-box-keys.ts";

export interface DrawingProps {
  readonly content: DrawingContent;
  /** Smallest zoom with which the drawing is fitted to the box. Default: 0.9, text stays readable. */
  readonly minZoom?: number;
  /** Opens the canvas; absent on the canvas. */
  readonly onOpen?: (() => void) | undefined;
}

const MIN_ZOOM = 0.9;
const MARGIN_PX = 320;
const REVEAL_PX = 24;
/** A scroll within this time after a wheel, touch or pointer event comes from the user. */
const USER_SCROLL_MS = 400;

export function Drawing({ content, minZoom = MIN_ZOOM, onOpen }: DrawingProps): ReactNode {
  const { role, boxes, boxWidth, width, height, viewport, onViewport, followed, isLive } = content;
  const words = useWords(DRAWING_WORDS);
  const scroller = useRef<HTMLDivElement>(null);
  const [region, setRegion] = useState<Region>(INITIAL_REGION);
  const zoom = Math.max(minZoom, Math.min(1, viewport.width / width, viewport.height / height));
  const [isFollowing, setFollowing] = useState(true);
  const touchedAt = useRef(-Infinity);

  const measure = useCallback(() => {
    const box = scroller.current;
    if (box === null) return;
    const view = {
      left: box.scrollLeft / zoom,
      top: box.scrollTop / zoom,
      right: (box.scrollLeft + box.clientWidth) / zoom,
      bottom: (box.scrollTop + box.clientHeight) / zoom,
    };
    setRegion((before) => (contains(before, view) && before !== INITIAL_REGION ? before : widen(view, MARGIN_PX)));
    onViewport(measureViewport(box));
  }, [zoom, onViewport]);

  useLayoutEffect(measure, [measure, width, height]);
  useEffect(() => {
    const box = scroller.current;
    if (box === null || typeof ResizeObserver === "undefined") return undefined;
    const observer = new ResizeObserver(measure);
    observer.observe(box);
    return () => observer.disconnect();
  }, [measure]);

  const show = useCallback(
    (position: number, isFollowed: boolean, isSmooth: boolean) => {
      const box = scroller.current;
      const target = boxes[position];
      if (box === null || target === undefined) return;
      const [x, y] = [target.x * zoom, target.y * zoom];
      // A tree grows around its newest node, so keep space around it. In a graph many nodes run at once; avoid jumping
      // between them.
      const margin = isFollowed && role === "tree" ? box.clientHeight / 4 : REVEAL_PX;
      box.scrollTo({
        left: reveal(box.scrollLeft, box.clientWidth, x, x + boxWidth * zoom, REVEAL_PX),
        top: reveal(box.scrollTop, box.clientHeight, y, y + target.height * zoom, margin),
        behavior: isSmooth && !matchMedia("(prefers-reduced-motion: reduce)").matches ? "smooth" : "auto",
      });
    },
    [boxes, boxWidth, zoom, role],
  );
  const hasShown = useRef(false);
  useEffect(() => {
    if (!isFollowing) return;
    // The first position is not animated: nothing has changed yet.
    show(followed, true, hasShown.current);
    hasShown.current = true;
  }, [isFollowing, followed, show]);
  const showMoved = useCallback(
    (position: number) => {
      setFollowing(false);
      show(position, false, false);
    },
    [show],
  );
  const handleKey = useBoxKeys(content, scroller, showMoved);
  const touch = (): void => {
    touchedAt.current = performance.now();
  };
  return (
    <div className="loom-drawing">
      <div
        ref={scroller}
        className="loom-drawing-box"
        data-live={isLive}
        onScroll={() => {
          if (performance.now() - touchedAt.current < USER_SCROLL_MS) setFollowing(false);
          measure();
        }}
        onWheel={touch}
        onTouchMove={touch}
        onPointerDown={(event) => {
          touch();
          // Pressing a box stops following; pressing empty space drags.
          if (readPosition(event.target) === undefined) dragBy(event, touch);
          else setFollowing(false);
        }}
        onKeyDown={handleKey}
      >
        <div className="loom-drawing-room" style={{ width: width * zoom, height: height * zoom }}>
          <DrawnSheet content={content} transform={`scale(${zoom})`} region={region} />
        </div>
      </div>
      <div className="loom-drawing-tools">
        {isLive && !isFollowing ? (
          <Button
            icon="last"
            onClick={() => {
              setFollowing(true);
              content.onDeselect();
            }}
          >
            {words.follow}
          </Button>
        ) : null}
        {onOpen === undefined ? null : (
          <Button icon="enlarge" aria-haspopup="dialog" onClick={onOpen}>
            {words.open}
          </Button>
        )}
      </div>
    </div>
  );
}

/** Returns the available size: the box grows with its content up to the `max-height` of its style. */
function measureViewport(box: HTMLElement): ViewportSize {
  return { width: box.clientWidth, height: Number.parseFloat(getComputedStyle(box).maxHeight) || box.clientHeight };
}

/** Lets a mouse drag the empty space of the drawing. Touch scrolls natively. */
function dragBy(event: PointerEvent<HTMLDivElement>, onMove: () => void): void {
  const box = event.currentTarget;
  const isOnBar = event.nativeEvent.offsetX > box.clientWidth || event.nativeEvent.offsetY > box.clientHeight;
  if (event.pointerType !== "mouse" || event.button !== 0) return;
  if (event.target === box && isOnBar) return;
  event.preventDefault();
  const start = { x: event.clientX + box.scrollLeft, y: event.clientY + box.scrollTop };
  const move = (moved: globalThis.PointerEvent): void => {
    onMove();
    box.scrollTo(start.x - moved.clientX, start.y - moved.clientY);
  };
  const over = new AbortController();
  const { signal } = over;
  addEventListener("pointermove", move, { signal });
  for (const end of ["pointerup", "pointercancel", "blur"] as const)
    addEventListener(end, () => over.abort(), { signal });
}
