/** A window above the page, by the browser's own: it keeps the keyboard within, and Escape closes it. */
import { type ReactNode, useLayoutEffect, useRef } from "react";
import { IconButton } from "./button.tsx";
import { defineWords, useWords } from "./words.ts";

const WORDS = defineWords({ en: { close: "Close" }, zh: { close: "关闭" } });

export interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
  /** `wide` takes what there is. */
  readonly size?: "small" | "wide";
}

/** Open for as long as it is rendered. */
export function Dialog({ title, onClose, children, size = "small" }: DialogProps): ReactNode {
  const words = useWords(WORDS);
  const element = useRef<HTMLDialogElement>(null);
  const pressed = useRef<EventTarget>(null);
  // Closed while it is still in the document, it gives the focus back to where it was.
  useLayoutEffect(() => {
    const dialog = element.current;
    if (dialog !== null && !dialog.open) dialog.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={element}
      className={`loom-dialog loom-dialog-${size}`}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onPointerDown={(event) => {
        pressed.current = event.target;
      }}
      onClick={(event) => {
        // Who selects a text and lets go outside does not mean to leave.
        if (event.target === element.current && pressed.current === element.current) onClose();
      }}
    >
      <header className="loom-dialog-head">
        <h2>{title}</h2>
        <IconButton icon="close" label={words.close} onClick={onClose} />
      </header>
      <div className="loom-dialog-body">{children}</div>
    </dialog>
  );
}
