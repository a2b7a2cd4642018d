/** Thumbs up and down for an answer, with a comment. The rating comes from the session, so every page shows the same. */
import { type ReactNode, type SubmitEvent, useEffect, useRef, useState } from "react";
import type { FeedbackView } from "../../client/view.ts";
import { COMMAND_WORDS, describeCommandFailure } from "../parts/command-words.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { type FeedbackResponse, useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";

const WORDS = defineWords({
  en: {
    good: "Good answer",
    bad: "Bad answer",
    thanks: "Thanks for your feedback.",
  },
  zh: {
    good: "回答得好",
    bad: "回答得不好",
    thanks: "感谢反馈。",
  },
});

export interface FeedbackProps {
  readonly runId: string;
  /** The current rating of the run. */
  readonly feedback: FeedbackView | undefined;
}

/** State of the feedback on one answer, for the buttons and for the form below them. */
export interface FeedbackControl {
  readonly rating: FeedbackView["rating"] | undefined;
  readonly isAsking: boolean;
  readonly isBusy: boolean;
  readonly note: string | undefined;
  choose(rating: FeedbackView["rating"]): void;
  comment(text: string): void;
  close(): void;
}

/** Returns undefined if the user may not rate. */
export function useFeedback({ runId, feedback }: FeedbackProps): FeedbackControl | undefined {
  const words = useWords(WORDS);
  const commandWords = useWords(COMMAND_WORDS);
  const { actions } = useUi();
  const [isAsking, setAsking] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [note, setNote] = useState<string>();
  if (actions.rate === undefined) return undefined;
  const send = async (response: Omit<FeedbackResponse, "runId">): Promise<boolean> => {
    setBusy(true);
    setNote(undefined);
    const outcome = await actions.rate?.({ runId, ...response }).catch(() => undefined);
    setBusy(false);
    const result = outcome ?? ({ kind: "lost", code: "connection_lost", message: "" } as const);
    const failure = describeCommandFailure(result, commandWords);
    setNote(failure);
    return failure === undefined;
  };
  const rating = feedback?.rating;
  return {
    rating,
    isAsking,
    isBusy,
    note,
    choose(chosen) {
      const isRemoved = chosen === rating;
      void send({ rating: isRemoved ? "none" : chosen }).then((isDone) => setAsking(isDone && !isRemoved));
    },
    comment(text) {
      if (rating === undefined) return;
      void send({ rating, comment: text }).then((isDone) => {
        if (!isDone) return;
        setAsking(false);
        setNote(words.thanks);
      });
    },
    close: () => setAsking(false),
  };
}

export function FeedbackButtons({ control }: { readonly control: FeedbackControl }): ReactNode {
  const words = useWords(WORDS);
  return (["good", "bad"] as const).map((rating) => (
    <IconButton
      key={rating}
      icon={rating}
      label={words[rating]}
      aria-pressed={control.rating === rating}
      disabled={control.isBusy}
      onClick={() => control.choose(rating)}
    />
  ));
}

/** Asks for a comment after a rating, and reports failures. */
export function FeedbackForm({ control }: { readonly control: FeedbackControl }): ReactNode {
  const { isAsking, isBusy, note } = control;
  return (
    <>
      {isAsking ? (
        <FeedbackComment isBusy={isBusy} onSend={(text) => control.comment(text)} onClose={() => control.close()} />
      ) : null}
      <p className="loom-run-note" role="status">
        {note ?? ""}
      </p>
    </>
  );
}

const COMMENT_WORDS = defineWords({
  en: { comment: "Comment (optional)", send: "Send", skip: "Skip" },
  zh: { comment: "说明（可选）", send: "发送", skip: "跳过" },
});

const MAX_COMMENT = 4000;

interface FeedbackCommentProps {
  readonly isBusy: boolean;
  readonly onSend: (text: string) => void;
  readonly onClose: () => void;
}

/** Form for a comment on a rated answer. Loaded with the first rating. */
function FeedbackComment({ isBusy, onSend, onClose }: FeedbackCommentProps): ReactNode {
  const words = useWords(COMMENT_WORDS);
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
