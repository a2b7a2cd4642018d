/** What the user said, and the files that came with it. */
import type { ReactNode } from "react";
import type { MessageView } from "../../client/index.ts";
import { defineWords, useWords } from "../ui/words.ts";

const WORDS = defineWords({ en: { you: "You said" }, zh: { you: "你说" } });

export function UserMessage({ message }: { readonly message: MessageView }): ReactNode {
  const words = useWords(WORDS);
  return (
    <div
      className="loom-message loom-message-user"
      role="group"
      aria-label={words.you}
      data-message={message.messageId}
    >
      {message.mainContent}
    </div>
  );
}
