/**
 * A drawing in the conversation: open in a box while its search runs, then a line and a small picture. Both open the
 * canvas, which is loaded on demand.
 */
import { type ReactNode, Suspense, useEffect, useMemo, useRef, useState } from "react";
import { Disclosure } from "../ui/disclosure.tsx";
import { useWords } from "../ui/words.ts";
import type { DrawingShape, ViewportSize } from "./drawing-content.ts";
import { fitMini, MiniDrawing } from "./mini-drawing.tsx";
import { DRAWING_WORDS } from "./thoughts-words.ts";
import type { DrawingState } from "./use-drawing-state.ts";

export interface ThoughtSectionProps {
  readonly label: string;
  readonly summary: ReactNode;
  readonly state: DrawingState;
  readonly renderBox: (onOpen: () => void) => ReactNode;
  /** Loads what `renderCanvas` needs. The canvas opens when it has succeeded, so that a lost connection closes nothing. */
  readonly loadCanvas: () => Promise<unknown>;
  readonly renderCanvas: (onClose: () => void) => ReactNode;
  /** Draws the small picture; memoized by the caller. Undefined while there is nothing to draw. */
  readonly drawPicture: () => DrawingShape | undefined;
  /** Renders more below the drawing. */
  readonly renderMore?: ((isOpen: boolean) => ReactNode) | undefined;
}

/** Size in which the small picture is drawn, before it is scaled. */
export const PICTURE: ViewportSize = { width: 720, height: 340 };
const SHOWN = { least: { width: 48, height: 32 }, most: { width: 240, height: 96 } };

export function ThoughtSection(props: ThoughtSectionProps): ReactNode {
  const { label, summary, state, renderMore } = props;
  const { element, isOpen, setOpen, onFocus } = state;
  const words = useWords(DRAWING_WORDS);
  const [isCanvasOpen, setCanvasOpen] = useState(false);
  const [hasFailed, setFailed] = useState(false);
  const wasCanvasOpen = useRef(false);
  // The box with the button may have folded in the meantime.
  useEffect(() => {
    const hasLostFocus = document.activeElement === null || document.activeElement === document.body;
    if (wasCanvasOpen.current && !isCanvasOpen && hasLostFocus)
      element.current?.querySelector<HTMLElement>(".loom-thoughts-picture")?.focus({ preventScroll: true });
    wasCanvasOpen.current = isCanvasOpen;
  }, [isCanvasOpen, element]);
  const open = (): void => {
    props.loadCanvas().then(
      () => setCanvasOpen(true),
      () => setFailed(true),
    );
  };
  return (
    <>
      <section ref={element} className="loom-thoughts" aria-label={label} onFocus={onFocus}>
        <Disclosure isOpen={isOpen} onToggle={setOpen} summary={summary}>
          {props.renderBox(open)}
        </Disclosure>
        {isOpen ? null : <Picture draw={props.drawPicture} onOpen={open} />}
        {hasFailed ? (
          <p className="loom-detail-note" role="alert">
            {words.notLoaded}
          </p>
        ) : null}
        {renderMore?.(isOpen)}
      </section>
      {isCanvasOpen ? <Suspense fallback={null}>{props.renderCanvas(() => setCanvasOpen(false))}</Suspense> : null}
    </>
  );
}

interface PictureProps {
  readonly draw: () => DrawingShape | undefined;
  readonly onOpen: () => void;
}

function Picture({ draw, onOpen }: PictureProps): ReactNode {
  const words = useWords(DRAWING_WORDS);
  const shape = useMemo(draw, [draw]);
  if (shape === undefined) return null;
  return (
    <button
      type="button"
      className="loom-thoughts-picture"
      aria-haspopup="dialog"
      aria-label={words.open}
      title={words.open}
      onClick={onOpen}
    >
      <MiniDrawing shape={shape} size={fitMini(shape, SHOWN.least, SHOWN.most)} />
    </button>
  );
}
