/** Panel with the details of the selected item, below a drawing or beside a canvas. Escape closes it. */
import { type ReactNode, useEffect, useRef } from "react";
import { IconButton } from "../ui/button.tsx";
import { CopyButton } from "../ui/copy-button.tsx";
import { useWords } from "../ui/words.ts";
import { DRAWING_WORDS } from "./thoughts-words.ts";
import { cutText } from "../../protocol/cut-text.ts";

export interface DetailPanelProps {
  readonly label: string;
  readonly head: ReactNode;
  readonly children: ReactNode;
  /** The panel was opened with the keyboard, so it takes the focus. */
  readonly takesFocus: boolean;
  readonly onClose: () => void;
  onInspect?: (() => void) | undefined;
}

export function DetailPanel({ label, head, children, takesFocus, onClose, onInspect }: DetailPanelProps): ReactNode {
  const words = useWords(DRAWING_WORDS);
  const panel = useRef<HTMLElement>(null);
  const opener = useRef<Element>(null);
  useEffect(() => {
    opener.current = document.activeElement;
    if (takesFocus) panel.current?.focus({ preventScroll: true });
    panel.current?.scrollIntoView?.({ block: "nearest" });
  }, [takesFocus]);
  // Focus returns to the element that opened the panel.
  const close = (): void => {
    onClose();
    if (opener.current instanceof HTMLElement) opener.current.focus({ preventScroll: true });
  };
  return (
    <section
      ref={panel}
      className="loom-detail"
      aria-label={label}
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        // Escape closes the panel first, then the canvas.
        event.preventDefault();
        close();
      }}
    >
      <header className="loom-detail-head">
        <div className="loom-detail-marks">{head}</div>
        {onInspect === undefined ? null : <IconButton icon="inspect" label={words.inspect} onClick={onInspect} />}
        <IconButton icon="close" label={words.close} onClick={close} />
      </header>
      {children}
    </section>
  );
}

/** Characters of one text that are rendered. */
const SHOWN_TEXT = 20_000;

export function DetailText({ text, variant }: { readonly text: string; readonly variant?: "bad" }): ReactNode {
  const words = useWords(DRAWING_WORDS);
  return (
    <div className={`loom-detail-text${variant === undefined ? "" : " loom-detail-bad"}`}>
      <div className="loom-detail-words" dir="auto" tabIndex={0} role="group">
        {cutText(text, SHOWN_TEXT)}
      </div>
      <CopyButton getText={() => text} />
      {text.length > SHOWN_TEXT ? <p className="loom-detail-note">{words.cut(SHOWN_TEXT)}</p> : null}
    </div>
  );
}

export function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }): ReactNode {
  return (
    <div className="loom-fact">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
