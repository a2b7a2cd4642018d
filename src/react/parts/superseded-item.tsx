/**
 * What an attempt left when its process died, as one collapsed row. The next attempt answers again, so this text is not
 * part of the answer.
 */
import { memo, type ReactNode, useRef } from "react";
import type { MessagePart } from "../../client/index.ts";
import { useRevealRequest } from "../thoughts/use-reveal-request.ts";
import { Disclosure } from "../ui/disclosure.tsx";
import { Icon } from "../ui/icon.tsx";
import { useCachedState } from "../ui/ui-state-cache.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { PartItem } from "./part-item.tsx";

const WORDS = defineWords({
  en: {
    answering: "Interrupted, answering again",
    answered: "Interrupted, answered again",
    failed: "Interrupted",
  },
  zh: {
    answering: "已中断，正在重新回答",
    answered: "已中断，并已重新回答",
    failed: "已中断",
  },
});

export interface SupersededItemProps {
  readonly parts: readonly MessagePart[];
  /** Key prefix of the cached UI state; unique within the session. */
  readonly stateKey: string;
  readonly turnKey: string;
  readonly runId: string | undefined;
  /** Whether a later attempt is answering, has answered, or failed too. */
  readonly outcome: keyof (typeof WORDS)["en"];
}

/** Shows the parts of a superseded attempt, collapsed by default. */
export const SupersededItem = memo(
  function SupersededItem({ parts, stateKey, turnKey, runId, outcome }: SupersededItemProps): ReactNode {
    const words = useWords(WORDS);
    const [isOpen, setOpen] = useCachedState(`${stateKey}/open`, false);
    const element = useRef<HTMLDivElement>(null);
    useRevealRequest(element, "part", (key) => {
      if (parts.some((part) => part.key === key)) setOpen(true);
    });
    const summary = (
      <span className="loom-thinking-head">
        <Icon name="retry" />
        <span className="loom-thinking-title">{words[outcome]}</span>
      </span>
    );
    return (
      <div ref={element} className="loom-thinking loom-superseded">
        <Disclosure summary={summary} isOpen={isOpen} onToggle={setOpen}>
          {parts.map((part) => (
            <div key={part.key} className="loom-part" data-part={part.key}>
              <PartItem part={part} turnKey={turnKey} runId={runId} isLive={false} todoList={undefined} />
            </div>
          ))}
        </Disclosure>
      </div>
    );
  },
  // The array is new on every render of the message; its elements are not.
  (before, now) =>
    before.stateKey === now.stateKey &&
    before.outcome === now.outcome &&
    before.parts.length === now.parts.length &&
    before.parts.every((part, index) => part === now.parts[index]),
);
