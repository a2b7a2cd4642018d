/**
 * A pannable, zoomable view of boxes in columns joined by lines. It follows the latest box until the user looks
 * elsewhere, and supports arrow-key navigation. It does not know about trees or graphs.
 *
 * Invariant: only the visible region, a margin around it, the followed box and the focused box are rendered.
 */
import {
  type CSSProperties,
  type KeyboardEvent,
  type PointerEvent,
  type ReactNode,
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { Button, IconButton } from "../ui/button.tsx";
import { useWords } from "../ui/words.ts";
import { contains, INITIAL_REGION, intersects, type Region, reveal, widen } from "./drawn-region.ts";
import { findNeighbour, isMoveKey, type GridItem } from "./find-neighbour.ts";
import { DRAWING_WORDS } from "./thoughts-words.ts";

export interface DrawnBox extends GridItem {
  readonly key: string;
  readonly x: number;
  readonly y: number;
  readonly height: number;
}

export interface DrawnLine {
  readonly key: string;
  readonly d: string;
  /** Bounding box of its points. */
  readonly region: Region;
  readonly className: string;
}

export interface DrawingProps {
  readonly label: string;
  readonly role: "tree" | "listbox";
  readonly boxes: readonly DrawnBox[];
  readonly boxWidth: number;
  readonly lines: readonly DrawnLine[];
  readonly width: number;
  readonly height: number;
  /** Available size as last reported by `onViewport`. */
  readonly viewport: ViewportSize;
  /** The available size changed. */
  readonly onViewport: (size: ViewportSize) => void;
  /** Restores the initial content; absent if nothing changed. */
  readonly onFit?: (() => void) | undefined;
  /** Index of the box kept in view. */
  readonly followed: number;
  readonly isLive: boolean;
  /** Index of the box in the tab order. */
  readonly current: number;
  onMove(position: number): void;
  /** The user chose to follow the latest box again. */
  onFollow(): void;
  /** A key that does not move the focus. */
  onKey(event: KeyboardEvent, position: number): void;
  renderBox(position: number): ReactNode;
}

const MARGIN_PX = 320;
const REVEAL_PX = 24;
const MIN_ZOOM = 0.5;
/** Smallest automatic zoom; text stays readable. */
const MIN_AUTO_ZOOM = 0.9;
/** Smallest zoom of "Fit to view". A larger drawing is shown in part: smaller text could not be read. */
const MIN_FIT_ZOOM = 0.75;
/** Narrower boxes leave out details. */
const NARROW_BOX_PX = 170;
const ZOOM_STEP = 1.3;
/** A scroll within this time after a wheel, touch or pointer event comes from the user. */
const USER_SCROLL_MS = 400;

export function Drawing(props: DrawingProps): ReactNode {
  const { label, role, boxes, boxWidth, lines, width, height, viewport, onViewport, onFit } = props;
  const { followed, isLive, current } = props;
  const words = useWords(DRAWING_WORDS);
  const scroller = useRef<HTMLDivElement>(null);
  const [region, setRegion] = useState<Region>(INITIAL_REGION);
  const [chosenZoom, setZoom] = useState<number>();
  const fitting = Math.min(1, viewport.width / width, viewport.height / height);
  const zoom = chosenZoom ?? Math.max(MIN_AUTO_ZOOM, fitting);
  const [isFollowing, setFollowing] = useState(true);
  const touchedAt = useRef(-Infinity);
  const wantsFocus = useRef(false);

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
  useLayoutEffect(() => {
    if (!wantsFocus.current) return;
    wantsFocus.current = false;
    scroller.current?.querySelector<HTMLElement>(`[data-box="${current}"]`)?.focus({ preventScroll: true });
    show(current, false, false);
  }, [current, show]);

  const handleKey = (event: KeyboardEvent): void => {
    const position = readPosition(event.target);
    if (position === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    if (!isMoveKey(event.key)) {
      props.onKey(event, position);
      return;
    }
    event.preventDefault();
    setFollowing(false);
    const next = findNeighbour(boxes, position, event.key);
    if (next === position) {
      props.onKey(event, position);
      return;
    }
    wantsFocus.current = true;
    props.onMove(next);
  };
  const touch = (): void => {
    touchedAt.current = performance.now();
  };
  const zoomTo = (next: number): void => {
    const box = scroller.current;
    const wanted = Math.min(1, Math.max(MIN_ZOOM, next));
    setFollowing(false);
    setZoom(wanted);
    if (box === null) return;
    // Zoom around the centre.
    const middle = {
      x: (box.scrollLeft + box.clientWidth / 2) / zoom,
      y: (box.scrollTop + box.clientHeight / 2) / zoom,
    };
    requestAnimationFrame(() =>
      box.scrollTo(middle.x * wanted - box.clientWidth / 2, middle.y * wanted - box.clientHeight / 2),
    );
  };

  const sheetStyle: CSSProperties & { readonly "--loom-box-width": string } = {
    width,
    height,
    transform: `scale(${zoom})`,
    "--loom-box-width": `${boxWidth}px`,
  };
  const isDrawn = (box: DrawnBox, position: number): boolean =>
    position === current ||
    position === followed ||
    intersects(region, { left: box.x, top: box.y, right: box.x + boxWidth, bottom: box.y + box.height });
  return (
    <div className="loom-drawing">
      <div
        ref={scroller}
        className="loom-drawing-box"
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
          <div className="loom-drawing-sheet" data-narrow={boxWidth < NARROW_BOX_PX} style={sheetStyle}>
            <svg className="loom-drawing-lines" aria-hidden="true" focusable="false">
              {lines.map(({ key, d, className, region: around }) =>
                intersects(region, around) ? <path key={key} className={`loom-line ${className}`} d={d} /> : null,
              )}
            </svg>
            <div role={role} aria-label={label}>
              {boxes.map((box, position) => (isDrawn(box, position) ? props.renderBox(position) : null))}
            </div>
          </div>
        </div>
      </div>
      <div className="loom-drawing-tools">
        {isLive && !isFollowing ? (
          <Button
            icon="last"
            onClick={() => {
              setFollowing(true);
              props.onFollow();
            }}
          >
            {words.follow}
          </Button>
        ) : null}
        {fitting < 1 || zoom < 1 || onFit !== undefined ? (
          <>
            <IconButton
              icon="less"
              label={words.zoomOut}
              disabled={zoom <= MIN_ZOOM}
              onClick={() => zoomTo(zoom / ZOOM_STEP)}
            />
            <IconButton icon="add" label={words.zoomIn} disabled={zoom >= 1} onClick={() => zoomTo(zoom * ZOOM_STEP)} />
            <IconButton
              icon="fit"
              label={words.fit}
              onClick={() => {
                if (onFit === undefined) zoomTo(Math.max(MIN_FIT_ZOOM, fitting));
                else setZoom(undefined);
                onFit?.();
              }}
            />
          </>
        ) : null}
      </div>
    </div>
  );
}

export interface ViewportSize {
  readonly width: number;
  readonly height: number;
}

/** Assumed until the first measurement: a wide column on a laptop. */
const ASSUMED: ViewportSize = { width: 766, height: 464 };

/** Returns the available size of a drawing and the function to report it. */
export function useViewport(): readonly [ViewportSize, (size: ViewportSize) => void] {
  const [viewport, setViewport] = useState(ASSUMED);
  const report = useCallback(
    (size: ViewportSize) =>
      setViewport((before) => (before.width === size.width && before.height === size.height ? before : size)),
    [],
  );
  return [viewport, report];
}

/** Returns the available size: the box grows with its content up to the `max-height` of its style. */
function measureViewport(box: HTMLElement): ViewportSize {
  return { width: box.clientWidth, height: Number.parseFloat(getComputedStyle(box).maxHeight) || box.clientHeight };
}

function readPosition(target: EventTarget): number | undefined {
  const box = target instanceof Element ? target.closest<HTMLElement>("[data-box]") : null;
  return box === null ? undefined : Number(box.dataset["box"]);
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
