/** A modal window built on the native `<dialog>`: it traps focus, and Escape closes it. */
import { type ReactNode, useLayoutEffect, useRef } from "react";
import { IconButton } from "./button.tsx";
import { defineWords, useWords } from "./words.ts";

const WORDS = defineWords({ en: { close: "Close" }, zh: { close: "关闭" } });

export interface DialogProps {
  /** Heading and accessible name. */
  readonly title: string;
  /** Called on Escape, the close button, or a click outside. */
  readonly onClose: () => void;
  readonly children: ReactNode;
  /** `wide` uses the available width, `full` the whole page. Default: `small`. */
  readonly size?: "small" | "wide" | "full";
  /** Controls beside the heading. Default: none. */
  readonly tools?: ReactNode;
}

/**
 * Modal dialog, open as long as it is rendered.
 *
 * ```tsx
 * {isOpen && (
 *   <Dialog title="Sources" onClose={() => setOpen(false)}>
 *     …
 *   </Dialog>
 * )}
 * ```
 */
export function Dialog({ title, onClose, children, size = "small", tools }: DialogProps): ReactNode {
  const words = useWords(WORDS);
  const element = useRef<HTMLDialogElement>(null);
  const pressed = useRef<EventTarget>(null);
  // Closing while the dialog is still in the document returns focus to the previous element.
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
        // Releasing a text selection outside the dialog must not close it.
        if (event.target === element.current && pressed.current === element.current) onClose();
      }}
    >
      <header className="loom-dialog-head">
        <h2 dir="auto">{title}</h2>
        {tools}
        <IconButton icon="close" label={words.close} onClick={onClose} />
      </header>
      <div className="loom-dialog-body">{children}</div>
    </dialog>
  );
}
