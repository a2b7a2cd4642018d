/** The user's message with its attachments, and an editor to send a changed version. */
import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from "react";
import type { MessageView } from "../../client/view.ts";
import { AttachmentList } from "../parts/attachment-list.tsx";
import { foldText } from "../parts/fold-text.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { CopyButton } from "../ui/copy-button.tsx";
import { useCachedState } from "../ui/ui-state-cache.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { useRunContext } from "./run-context.ts";
import { VersionSwitcher } from "./version-switcher.tsx";

export const USER_WORDS = defineWords({
  en: {
    you: "You",
    showAll: "Show all",
    showLess: "Show less",
    copy: "Copy message",
    edit: "Edit message",
    editing: "Edited message",
    hint: "Continues as a new version. The old one stays.",
    send: "Send",
    cancel: "Cancel",
  },
  zh: {
    you: "你",
    showAll: "展开全文",
    showLess: "收起",
    copy: "复制消息",
    edit: "编辑消息",
    editing: "修改后的消息",
    hint: "将作为新版本继续，原来的版本会保留。",
    send: "发送",
    cancel: "取消",
  },
});

export const FOLD_LINES = 12;
export const FOLD_CHARACTERS = 1200;

/** Renders a message of the user. Offers editing if `UiActions.edit` is given. */
export function UserMessage({ message }: { readonly message: MessageView }): ReactNode {
  const words = useWords(USER_WORDS);
  const { actions } = useUi();
  const run = useRunContext();
  const { messageId, mainContent: text, attachments } = message;
  const [isOpen, setOpen] = useCachedState(`${messageId}/open`, false);
  const [draft, setDraft] = useCachedState<string | undefined>(`${messageId}/draft`, undefined);
  const [isSending, setSending] = useState(false);
  // An editor restored by scrolling back must not take the focus.
  const [isFresh, setFresh] = useState(false);
  const editButton = useRef<HTMLButtonElement>(null);
  const folded = foldText(text, FOLD_LINES, FOLD_CHARACTERS);
  const isLong = folded.length < text.length;
  const edit = (): void => {
    setFresh(true);
    setDraft(text);
  };
  const leave = (): void => {
    setDraft(undefined);
    // Wait until the edit button is rendered again.
    requestAnimationFrame(() => editButton.current?.focus());
  };
  const send = async (): Promise<void> => {
    const turn = run.getTurn();
    const trimmed = draft?.trim() ?? "";
    if (turn === undefined || trimmed === "" || isSending) return;
    setSending(true);
    const isSent = await actions.edit?.(turn, trimmed);
    setSending(false);
    // On failure the draft stays, so that the user can retry.
    if (isSent === true) leave();
  };
  return (
    <div className="loom-user" role="group" aria-label={words.you} data-message={messageId}>
      {attachments === undefined ? null : <AttachmentList attachments={attachments} />}
      {draft !== undefined ? (
        <MessageEditor
          draft={draft}
          isSending={isSending}
          isFresh={isFresh}
          onChange={setDraft}
          onSend={() => void send()}
          onCancel={leave}
        />
      ) : text === "" ? null : (
        <div className="loom-message loom-message-user">
          <p className="loom-user-text" dir="auto">
            {isOpen || !isLong ? text : `${folded}…`}
          </p>
          {isLong ? (
            <button type="button" className="loom-more" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
              {isOpen ? words.showLess : words.showAll}
            </button>
          ) : null}
        </div>
      )}
      {draft !== undefined ? null : (
        <div className="loom-message-actions">
          {text === "" ? null : <CopyButton getText={() => text} label={words.copy} />}
          {actions.edit === undefined ? null : (
            <IconButton ref={editButton} icon="edit" data-action="edit" label={words.edit} onClick={edit} />
          )}
          <VersionSwitcher turnKey={run.turnKey} at="message" />
        </div>
      )}
    </div>
  );
}

interface MessageEditorProps {
  readonly draft: string;
  readonly isSending: boolean;
  readonly isFresh: boolean;
  readonly onChange: (draft: string) => void;
  readonly onSend: () => void;
  readonly onCancel: () => void;
}

function MessageEditor({ draft, isSending, isFresh, onChange, onSend, onCancel }: MessageEditorProps): ReactNode {
  const words = useWords(USER_WORDS);
  const { sendKey = "ctrl-enter" } = useUi();
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    const element = field.current;
    if (!isFresh) return;
    element?.focus();
    element?.setSelectionRange(element.value.length, element.value.length);
  }, []);
  return (
    <div className="loom-user-editor">
      <textarea
        ref={field}
        dir="auto"
        value={draft}
        rows={3}
        aria-label={words.editing}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => {
          // During IME composition both keys have another meaning.
          if (event.nativeEvent.isComposing) return;
          if (event.key === "Escape") onCancel();
          else if (event.key === "Enter" && isSendKey(event, sendKey)) onSend();
          else return;
          event.preventDefault();
          event.stopPropagation();
        }}
      />
      <p className="loom-user-hint">{words.hint}</p>
      <div className="loom-user-buttons">
        <Button onClick={onCancel}>{words.cancel}</Button>
        <Button
          variant="primary"
          icon="send"
          disabled={draft.trim() === "" || isSending}
          onClick={onSend}
          aria-keyshortcuts={sendKey === "enter" ? "Enter" : "Control+Enter Meta+Enter"}
        >
          {words.send}
        </Button>
      </div>
    </div>
  );
}

/** Control or Command and Enter always send. */
function isSendKey({ ctrlKey, metaKey, shiftKey }: KeyboardEvent<HTMLTextAreaElement>, sendKey: string): boolean {
  return ctrlKey || metaKey || (sendKey === "enter" && !shiftKey);
}
