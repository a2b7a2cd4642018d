/** One part of a message, by its type. */
import { memo, type ReactNode } from "react";
import type { MessagePart, TodoList } from "../../client/index.ts";
import { RichText } from "../text/rich-text.tsx";

export interface PartItemProps {
  readonly part: MessagePart;
  readonly turnKey: string;
  readonly runId: string | undefined;
  /** Its run is going: what has not ended may still. */
  readonly isLive: boolean;
  /** Of a part that shows one, as it stands now. */
  readonly todoList: TodoList | undefined;
}

export const PartItem = memo(function PartItem({ part }: PartItemProps): ReactNode {
  switch (part.type) {
    case "text":
      return <RichText text={part.text} format={part.format} isComplete={part.isComplete} />;
    default:
      return <pre>{JSON.stringify(part)}</pre>;
  }
});
