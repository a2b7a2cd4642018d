/** A sent message whose run has not started. It has the layout of a run, so that nothing moves when the run starts. */
import type { ReactNode } from "react";
import { foldText } from "../parts/fold-text.ts";
import { isRasterType } from "../text/sanitize-link.ts";
import { Icon } from "../ui/icon.tsx";
import { Spinner } from "../ui/indicators.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { FOLD_CHARACTERS, FOLD_LINES, USER_WORDS } from "./user-message.tsx";

const WORDS = defineWords({
  en: { sending: "Sending…", away: "Waiting for the connection" },
  zh: { sending: "正在发送…", away: "等待连接恢复后发送" },
});

/** A message that was sent and whose run has not started. */
export interface PendingMessage {
  /** ID of the run that will answer it. */
  readonly runId: string;
  readonly text: string;
  readonly files: readonly { readonly name?: string; readonly mediaType?: string }[];
}

export interface PendingItemProps {
  readonly message: PendingMessage;
  readonly position: number;
  readonly count: number;
  /** The connection is lost; the message is sent when it is back. */
  readonly isAway: boolean;
}

export function PendingItem({ message: { text, files }, position, count, isAway }: PendingItemProps): ReactNode {
  const words = useWords(WORDS);
  const { you, showAll } = useWords(USER_WORDS);
  const folded = foldText(text, FOLD_LINES, FOLD_CHARACTERS);
  const isLong = folded.length < text.length;
  return (
    <article className="loom-run" aria-busy aria-posinset={position} aria-setsize={count}>
      <div className="loom-user" role="group" aria-label={you}>
        {files.length === 0 ? null : (
          <ul className="loom-attachments">
            {files.map(({ name, mediaType = "" }, index) =>
              isRasterType(mediaType) ? (
                // Has the size of the thumbnail, so that nothing moves when the image is loaded.
                <li key={index} className="loom-image-thumbnail" title={name}>
                  <span className="loom-image-button" role="img" aria-label={name} />
                </li>
              ) : (
                // The list never changes.
                <li key={index} className="loom-attachment">
                  <Icon name="file" />
                  <span className="loom-attachment-name">{name}</span>
                </li>
              ),
            )}
          </ul>
        )}
        {text === "" ? null : (
          <div className="loom-message loom-message-user">
            <p className="loom-user-text" dir="auto">
              {isLong ? `${folded}…` : text}
            </p>
            {isLong ? (
              <button type="button" className="loom-more" disabled>
                {showAll}
              </button>
            ) : null}
          </div>
        )}
        <div className="loom-message-actions" />
      </div>
      <div className="loom-stage" data-stage="sending">
        {isAway ? <Icon name="away" /> : <Spinner />}
        <span role="status" className="loom-stage-title">
          {isAway ? words.away : words.sending}
        </span>
      </div>
    </article>
  );
}
