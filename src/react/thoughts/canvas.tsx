/**
 * A drawing over the whole page, with search, zoom and the details of the selected item beside it. It can also be
 * read as an outline. It does not know about trees or graphs.
 */
import { type KeyboardEvent, type ReactNode, useLayoutEffect, useRef, useState } from "react";
import { Button, IconButton } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { useWords } from "../ui/words.ts";
import { CanvasSearch, type SearchedText } from "./canvas-search.tsx";
import { CanvasStage } from "./canvas-stage.tsx";
import { Drawing } from "./drawing.tsx";
import type { DrawingContent } from "./drawing-content.ts";
import type { Point } from "./grid.ts";
import { DRAWING_WORDS } from "./thoughts-words.ts";
import { focusBox } from "./use-box-keys.ts";
import { useCamera } from "./use-camera.ts";

export interface CanvasProps {
  readonly title: string;
  /** Shown beside the title where there is room. */
  readonly facts: readonly string[];
  readonly content: DrawingContent;
  /** Details of the selected item; null if none is selected. */
  readonly panel: ReactNode;
  readonly search: {
    readonly label: string;
    readonly texts: readonly SearchedText[];
    readonly onFind: (id: string) => void;
  };
  /** Name of the view that is not the outline. */
  readonly view: "tree" | "graph";
  /** Whether the content is an outline, which scrolls. */
  readonly isOutline: boolean;
  readonly onOutline: (isOutline: boolean) => void;
  readonly onClose: () => void;
}

const ZOOM_STEP = 1.25;
const PAN_PX = 80;

const ARROWS: { readonly [key: string]: Point } = {
  ArrowLeft: { x: -PAN_PX, y: 0 },
  ArrowRight: { x: PAN_PX, y: 0 },
  ArrowUp: { x: 0, y: -PAN_PX },
  ArrowDown: { x: 0, y: PAN_PX },
};

export function Canvas(props: CanvasProps): ReactNode {
  const { title, facts, content, panel, search, view, isOutline, onOutline, onClose } = props;
  const words = useWords(DRAWING_WORDS);
  const frame = useRef<HTMLDivElement>(null);
  const field = useRef<HTMLInputElement>(null);
  const [finds, setFinds] = useState(0);
  const camera = useCamera(content, panel !== null, finds);
  const { onViewport, current } = content;
  // The layout uses the width of the page, so that it does not change when the details open.
  useLayoutEffect(() => {
    const element = frame.current;
    if (element === null || isOutline) return undefined;
    const measure = (): void => onViewport({ width: element.clientWidth, height: element.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [isOutline, onViewport]);
  // The dialog has opened by then.
  useLayoutEffect(() => {
    requestAnimationFrame(() => focusBox(frame.current, current));
  }, []);

  const handleKey = (event: KeyboardEvent): void => {
    if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.target instanceof HTMLInputElement) return;
    const isInPanel = event.target instanceof Element && event.target.closest(".loom-detail") !== null;
    const by = ARROWS[event.key];
    if (event.key === "/") field.current?.focus();
    else if (event.key === "Escape" && panel !== null) content.onDeselect();
    else if (isOutline || isInPanel) return;
    else if (by !== undefined) camera.pan(by);
    else if (event.key === "+" || event.key === "=") camera.zoom(ZOOM_STEP);
    else if (event.key === "-") camera.zoom(1 / ZOOM_STEP);
    else if (event.key === "0" || event.key.toLowerCase() === "f") camera.fit();
    else return;
    event.preventDefault();
  };
  const tools = (
    <div className="loom-canvas-tools">
      <span className="loom-canvas-facts">{facts.join(" · ")}</span>
      <span className="loom-canvas-views" role="group" aria-label={words.view}>
        <Button aria-pressed={!isOutline} onClick={() => onOutline(false)}>
          {words[view]}
        </Button>
        <Button aria-pressed={isOutline} onClick={() => onOutline(true)}>
          {words.outline}
        </Button>
      </span>
      <CanvasSearch
        ref={field}
        {...search}
        onFind={(id) => {
          search.onFind(id);
          setFinds(finds + 1);
        }}
      />
      {isOutline ? null : (
        <span className="loom-canvas-zoom">
          <IconButton icon="less" label={words.zoomOut} onClick={() => camera.zoom(1 / ZOOM_STEP)} />
          <IconButton icon="add" label={words.zoomIn} onClick={() => camera.zoom(ZOOM_STEP)} />
          <IconButton icon="fit" label={words.fit} onClick={() => camera.fit()} />
        </span>
      )}
    </div>
  );
  return (
    <div className="loom-canvas-keys" onKeyDown={handleKey}>
      <Dialog title={title} size="full" tools={tools} onClose={onClose}>
        <div ref={frame} className="loom-canvas" data-outline={isOutline}>
          {isOutline ? <Drawing content={content} minZoom={1} /> : <CanvasStage content={content} camera={camera} />}
          {panel}
        </div>
      </Dialog>
    </div>
  );
}
