/** What the user said, as they wrote it, and the files that came with it; and another try at saying it. */
import { type ReactNode, useEffect, useRef, useState } from "react";
import type { MessageView } from "../../client/index.ts";
import { AttachmentList } from "../parts/attachment-list.tsx";
import { foldText } from "../parts/cut-text.ts";
import { InspectButton } from "../parts/inspect-button.tsx";
import { Button, IconButton } from "../ui/button.tsx";
import { CopyButton } from "../ui/copy-button.tsx";
import { useKeptState } from "../ui/kept-state.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { useRunPlace } from "./run-context.ts";

const WORDS = defineWords({
  en: {
    you: "You said",
    showAll: "Show all",
    showLess: "Show less",
    copy: "Copy message",
    edit: "Edit and send again",
    editing: "Message to send instead",
    hint: "It goes on in a new session that shares what came before.",
    send: "Send",
    cancel: "Cancel",
  },
  zh: {
    you: "你说",
    showAll: "展开全文",
    showLess: "收起",
    copy: "复制消息",
    edit: "编辑并重新发送",
    editing: "改为发送的消息",
    hint: "将在新会话中继续，并保留此前的内容。",
    send: "发送",
    cancel: "取消",
  },
});

const FOLD_LINES = 12;
const FOLD_CHARACTERS = 1200;

export function UserMessage({ message }: { readonly message: MessageView }): ReactNode {
  const words = useWords(WORDS);
  const { actions } = useUi();
  const place = useRunPlace();
  const { messageId, mainContent: text, attachments } = message;
  const [isOpen, setOpen] = useKeptState(`${messageId}/open`, false);
  const [draft, setDraft] = useKeptState<string | undefined>(`${messageId}/draft`, undefined);
  const [isSending, setSending] = useState(false);
  // One that is found again, as its row comes back into sight, does not call the keyboard to it.
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
    // The keyboard goes back to where it came from, once that is there again.
    requestAnimationFrame(() => editButton.current?.focus());
  };
  const send = async (): Promise<void> => {
    const turn = place.getTurn();
    const said = draft?.trim() ?? "";
    if (turn === undefined || said === "" || isSending) return;
    setSending(true);
    const isSent = await actions.edit?.(turn, said);
    setSending(false);
    // What could not be sent stays, to be sent once more.
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
          <p className="loom-user-text">{isOpen || !isLong ? text : `${folded}…`}</p>
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
            <IconButton ref={editButton} icon="edit" label={words.edit} onClick={edit} />
          )}
          <InspectButton place={{ turn: place.turnKey, kind: "turn", key: "" }} />
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
  const words = useWords(WORDS);
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
        value={draft}
        rows={3}
        aria-label={words.editing}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => {
          // Of a word that is still being composed both keys mean something else.
          if (event.nativeEvent.isComposing) return;
          if (event.key === "Escape") onCancel();
          else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) onSend();
          else return;
          event.preventDefault();
          event.stopPropagation();
        }}
      />
      <p className="loom-user-hint">{words.hint}</p>
      <div className="loom-user-buttons">
        <Button onClick={onCancel}>{words.cancel}</Button>
        <Button
          look="primary"
          icon="send"
          disabled={draft.trim() === "" || isSending}
          onClick={onSend}
          aria-keyshortcuts="Control+Enter Meta+Enter"
        >
          {words.send}
        </Button>
      </div>
    </div>
  );
}
