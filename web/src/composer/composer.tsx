/**
 * The composer. Enter, or Ctrl+Enter as the settings say, sends; other ways to press it insert a line. Nothing is sent
 * while an input method is composing. Files come from the button, the clipboard or drag and drop.
 */
import { type ClipboardEvent, type KeyboardEvent, type ReactNode, useLayoutEffect, useMemo, useRef } from "react";
import type { SessionView } from "loom-agent/client";
import { Button, IconButton, useSession, useWords } from "loom-agent/react";
import { useMay, usePage, usePageState } from "../shell/page-context.tsx";
import { type ComposerDraft, findDraft, findWaiting, splitWaiting, type WaitingMessage } from "../store/composing.ts";
import { findLiveRun } from "../store/live-run.ts";
import type { PageState } from "../store/page-state.ts";
import { AllowedTools } from "./allowed-tools.tsx";
import { AttachmentChips } from "./attachment-chips.tsx";
import { COMPOSER_WORDS } from "./composer-words.ts";
import { Pickers } from "./pickers.tsx";
import { WaitingList } from "./waiting-list.tsx";

const selectSendKey = ({ settings }: PageState): PageState["settings"]["sendKey"] => settings.sendKey;
const selectStopping = ({ composing }: PageState): readonly string[] => composing.stopping;

/** Returns the ID of the live run. */
function selectLiveRun(session: SessionView | undefined): string | undefined {
  const live = findLiveRun(session);
  return live?.runId ?? live?.key;
}

export interface ComposerProps {
  readonly session: string | undefined;
  /** Called before the message is sent, to scroll to the end. */
  readonly onSend: () => void;
}

export function Composer({ session, onSend }: ComposerProps): ReactNode {
  const words = useWords(COMPOSER_WORDS);
  const page = usePage();
  const name = session ?? "";
  const [selectDraft, selectWaiting] = useMemo(
    () => [
      ({ composing }: PageState): ComposerDraft => findDraft(composing, session),
      ({ composing }: PageState): readonly WaitingMessage[] => findWaiting(composing, session),
    ],
    [session],
  );
  const draft = usePageState(selectDraft);
  const waiting = usePageState(selectWaiting);
  const stopping = usePageState(selectStopping);
  const liveRun = useSession(page.receiver, name, selectLiveRun);
  const mayAttach = useMay("write");
  const picker = useRef<HTMLInputElement>(null);
  const isLive = liveRun !== undefined;
  const isUploading = draft.attachments.some(({ blob, error }) => blob === undefined && error === undefined);
  const hasFailed = draft.attachments.some(({ error }) => error !== undefined);
  // Stays enabled with failed uploads: sending then raises a notice that explains them.
  const isReady = !isUploading && (draft.text.trim() !== "" || draft.attachments.length > 0);
  const isBusy = isLive || waiting.some(({ status }) => status === "queued");
  const sendLabel = isBusy ? words.queue : words.send;
  return (
    <form
      className="page-composer"
      aria-label={words.form}
      onSubmit={(event) => {
        event.preventDefault();
        onSend();
        page.sendDraft();
      }}
    >
      <div className="page-composer-column">
        <AllowedTools session={name} />
        <WaitingList messages={splitWaiting(waiting, isLive).others} />
        <div className="page-composer-box">
          <AttachmentChips files={draft.attachments} />
          <MessageBox name={name} text={draft.text} />
          <div className="page-composer-row">
            {mayAttach ? (
              <IconButton icon="attach" label={words.attach} onClick={() => picker.current?.click()} />
            ) : null}
            <input
              ref={picker}
              type="file"
              multiple
              hidden
              onChange={(event) => {
                page.attach([...(event.target.files ?? [])]);
                event.target.value = "";
              }}
            />
            <Pickers session={session} />
            <span className="page-composer-buttons">
              {isLive ? (
                <Button
                  icon="stop"
                  disabled={stopping.includes(liveRun)}
                  onClick={() => void page.stop()}
                  aria-keyshortcuts="Escape"
                >
                  {stopping.includes(liveRun) ? words.stopping : words.stop}
                </Button>
              ) : null}
              <Button
                isSubmit
                icon="send"
                variant="primary"
                disabled={!isReady}
                title={hasFailed ? words.failedHint : isBusy ? words.queueHint : undefined}
              >
                {sendLabel}
              </Button>
            </span>
          </div>
        </div>
      </div>
    </form>
  );
}

function MessageBox({ name, text }: { readonly name: string; readonly text: string }): ReactNode {
  const words = useWords(COMPOSER_WORDS);
  const page = usePage();
  const mayAttach = useMay("write");
  const sendKey = usePageState(selectSendKey);
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
    if (files.length === 0 || !mayAttach) return;
    // Spreadsheets and word processors put an image next to the copied text. Use the text.
    if (event.clipboardData.types.includes("text/plain")) return;
    event.preventDefault();
    page.attach(files);
  };
  return (
    <textarea
      ref={box}
      id="page-message"
      className="page-message-box"
      rows={1}
      value={text}
      placeholder={words.placeholder}
      aria-label={words.message}
      enterKeyHint={sendKey === "ctrl-enter" ? "enter" : "send"}
      onChange={(event) => page.dispatch({ type: "draft/typed", session: name, text: event.target.value })}
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
