/** Form for a comment on a rated answer. Loaded with the first rating. */
import { type ReactNode, type SubmitEvent, useEffect, useRef, useState } from "react";
import { Button } from "../ui/button.tsx";
import { defineWords, useWords } from "../ui/words.ts";

const WORDS = defineWords({
  en: { comment: "Comment (optional)", send: "Send", skip: "Skip" },
  zh: { comment: "说明（可选）", send: "发送", skip: "跳过" },
});

const MAX_COMMENT = 4000;

export interface FeedbackCommentProps {
  readonly isBusy: boolean;
  readonly onSend: (text: string) => void;
  readonly onClose: () => void;
}

export function FeedbackComment({ isBusy, onSend, onClose }: FeedbackCommentProps): ReactNode {
  const words = useWords(WORDS);
  const [text, setText] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (text.trim() !== "") onSend(text.trim());
  };
  return (
    <form
      className="loom-feedback"
      onSubmit={submit}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.nativeEvent.isComposing) return;
        event.stopPropagation();
        onClose();
      }}
    >
      <label className="loom-field">
        <span>{words.comment}</span>
        <textarea
          dir="auto"
          ref={field}
          rows={2}
          value={text}
          maxLength={MAX_COMMENT}
          disabled={isBusy}
          onChange={(event) => setText(event.target.value)}
        />
      </label>
      <div className="loom-approval-buttons">
        <Button isSubmit variant="primary" disabled={isBusy || text.trim() === ""}>
          {words.send}
        </Button>
        <Button disabled={isBusy} onClick={onClose}>
          {words.skip}
        </Button>
      </div>
    </form>
  );
}
