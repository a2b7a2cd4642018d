/**
 * The box to write a message in. Enter, or Ctrl+Enter as `Ui.sendKey` says, sends; other ways to press it insert a line.
 * Nothing is sent while an input method is composing. Files come from the button or the clipboard.
 */
import { type ClipboardEvent, type KeyboardEvent, type ReactNode, useLayoutEffect, useRef } from "react";
import { Button, IconButton } from "../ui/button.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { useWords } from "../ui/words.ts";
import { AttachmentChips } from "./attachment-chips.tsx";
import { COMPOSER_WORDS } from "./composer-words.ts";
import type { DraftFile, FileActions } from "./draft.ts";

/** A longer text is attached as a file: it would hide the message, and one command has at most 65,536 characters. */
const LONG_PASTE = 10_000;

export interface ComposerProps {
  readonly text: string;
  readonly onType: (text: string) => void;
  readonly onSend: () => void;
  readonly files: readonly DraftFile[];
  /** Undefined: no files can be attached. */
  readonly fileActions: FileActions | undefined;
  /** Stops the live run. Undefined: no run is live. */
  readonly onStop: (() => void) | undefined;
  readonly isStopping: boolean;
  /** The message will wait for other runs. */
  readonly isBusy: boolean;
  /** ID of the text area. */
  readonly id?: string;
  /** Shown above the box. */
  readonly children?: ReactNode;
  /** Shown in the row below the text. */
  readonly tools?: ReactNode;
}

/**
 * Shows the text and the files of a draft, with buttons to send it and to stop the run. It keeps no state itself.
 *
 * ```tsx
 * <Composer
 *   text={text}
 *   onType={setText}
 *   onSend={() => connection.run({ message: text })}
 *   files={[]}
 *   fileActions={undefined}
 *   onStop={undefined}
 *   isStopping={false}
 *   isBusy={false}
 * />
 * ```
 */
export function Composer(props: ComposerProps): ReactNode {
  const { text, files, fileActions, onStop, isStopping, isBusy } = props;
  const words = useWords(COMPOSER_WORDS);
  const picker = useRef<HTMLInputElement>(null);
  const isUploading = files.some(({ blob, error }) => blob === undefined && error === undefined);
  const hasFailed = files.some(({ error }) => error !== undefined);
  // Stays enabled with failed uploads: sending then explains them.
  const isReady = !isUploading && (text.trim() !== "" || files.length > 0);
  return (
    <form
      className="loom-composer"
      aria-label={words.form}
      onSubmit={(event) => {
        event.preventDefault();
        if (isReady) props.onSend();
      }}
    >
      <div className="loom-composer-column">
        {props.children}
        <div className="loom-composer-box">
          {fileActions === undefined ? null : <AttachmentChips files={files} actions={fileActions} />}
          <MessageBox {...props} />
          <div className="loom-composer-row">
            {fileActions === undefined ? null : (
              <>
                <IconButton icon="attach" label={words.attach} onClick={() => picker.current?.click()} />
                <input
                  ref={picker}
                  type="file"
                  multiple
                  hidden
                  onChange={(event) => {
                    fileActions.attach([...(event.target.files ?? [])]);
                    event.target.value = "";
                  }}
                />
              </>
            )}
            {props.tools}
            <span className="loom-composer-buttons">
              {onStop === undefined ? null : (
                <Button icon="stop" disabled={isStopping} onClick={onStop} aria-keyshortcuts="Escape">
                  {isStopping ? words.stopping : words.stop}
                </Button>
              )}
              <Button
                isSubmit
                icon="send"
                variant="primary"
                disabled={!isReady}
                title={hasFailed ? words.failedHint : isBusy ? words.queueHint : undefined}
              >
                {isBusy ? words.queue : words.send}
              </Button>
            </span>
          </div>
        </div>
      </div>
    </form>
  );
}

function MessageBox({ text, id, onType, fileActions }: ComposerProps): ReactNode {
  const words = useWords(COMPOSER_WORDS);
  const { sendKey = "ctrl-enter" } = useUi();
  const box = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    if (box.current !== null) fitHeight(box.current);
  }, [text]);
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>): void => {
    // Some input methods report their keys only as keyCode 229.
    // oxlint-disable-next-line typescript/no-deprecated
    const isComposing = event.nativeEvent.isComposing || event.keyCode === 229;
    if (event.key !== "Enter" || event.shiftKey || isComposing) return;
    if (sendKey === "ctrl-enter" && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    event.currentTarget.form?.requestSubmit();
  };
  const onPaste = (event: ClipboardEvent): void => {
    const files = [...event.clipboardData.files];
    const pasted = event.clipboardData.getData("text/plain");
    if (fileActions === undefined) return;
    if (pasted.length > LONG_PASTE) {
      event.preventDefault();
      fileActions.attachText(`${words.pasted}.txt`, pasted, box.current?.selectionStart ?? text.length);
      return;
    }
    // Spreadsheets and word processors put an image next to the copied text. Use the text.
    if (files.length === 0 || event.clipboardData.types.includes("text/plain")) return;
    event.preventDefault();
    fileActions.attach(files);
  };
  return (
    <textarea
      ref={box}
      id={id}
      className="loom-message-box"
      dir="auto"
      rows={1}
      value={text}
      placeholder={words.placeholder}
      aria-label={words.message}
      enterKeyHint={sendKey === "ctrl-enter" ? "enter" : "send"}
      onChange={(event) => onType(event.target.value)}
      onKeyDown={onKeyDown}
      onPaste={onPaste}
    />
  );
}

/** Grows the box with its text. CSS limits the height. */
function fitHeight(box: HTMLTextAreaElement): void {
  box.style.height = "auto";
  box.style.height = `${box.scrollHeight}px`;
}
