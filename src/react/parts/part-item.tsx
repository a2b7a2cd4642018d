/** Renders one part of a message by its type, with a menu. */
import { lazy, memo, type NamedExoticComponent, type ReactNode, Suspense } from "react";
import type { MessagePart, TodoList } from "../../client/index.ts";
import { RichText } from "../text/rich-text.tsx";
import { Spinner } from "../ui/indicators.tsx";
import { ImageItem } from "./image-item.tsx";
import { PartBoundary } from "./part-boundary.tsx";
import { PartMenu } from "./part-menu.tsx";
import { ThinkingItem } from "./thinking-item.tsx";
import { ToolCard } from "./tool-card.tsx";

/** Tables and charts are loaded with the first one. */
const DataView = lazy(async () => ({ default: (await import("../data/data-view.tsx")).DataView }));

/** Few runs have sources, lists or errors. */
const ReferencesItem = lazy(async () => ({ default: (await import("./references-item.tsx")).ReferencesItem }));
const TodoCard = lazy(async () => ({ default: (await import("./todo-card.tsx")).TodoCard }));
const ErrorBanner = lazy(async () => ({ default: (await import("./error-banner.tsx")).ErrorBanner }));

export interface PartItemProps {
  readonly part: MessagePart;
  /** Key of the run, as in `TurnView.key`. */
  readonly turnKey: string;
  /** Id of the run, sent with approvals. */
  readonly runId: string | undefined;
  /** The run is live, so incomplete parts may continue. */
  readonly isLive: boolean;
  /** Current state of the to-do list; only for parts of type `todo`. */
  readonly todoList: TodoList | undefined;
}

/** Renders one part of a message. A part that fails to render does not affect the others. */
export const PartItem: NamedExoticComponent<PartItemProps> = memo(function PartItem(props: PartItemProps): ReactNode {
  return (
    <div className="loom-part-row">
      <div className="loom-part-content">
        <PartBoundary part={props.part}>
          <PartContent {...props} />
        </PartBoundary>
      </div>
      <PartMenu part={props.part} turnKey={props.turnKey} />
    </div>
  );
});

function PartContent({ part, turnKey, runId, isLive, todoList }: PartItemProps): ReactNode {
  switch (part.type) {
    case "text":
      // Text that is held back as possibly unfinished markup is shown once the run has ended.
      return <RichText text={part.text} format={part.format} isComplete={part.isComplete || !isLive} />;
    case "thinking":
      return <ThinkingItem part={part} turnKey={turnKey} isLive={isLive} />;
    case "tool":
      return <ToolCard call={part.call} partKey={part.key} turnKey={turnKey} runId={runId} isLive={isLive} />;
    case "data":
      return (
        <Suspense fallback={<Spinner />}>
          <DataView block={part.block} />
        </Suspense>
      );
    case "image":
      return <ImageItem url={part.url} alt={part.alt} />;
    case "todo":
      return (
        <Suspense fallback={null}>
          <TodoCard list={todoList} />
        </Suspense>
      );
    case "error":
      return (
        <Suspense fallback={null}>
          <ErrorBanner part={part} isLive={isLive} />
        </Suspense>
      );
    case "references":
      return (
        <Suspense fallback={null}>
          <ReferencesItem part={part} turnKey={turnKey} />
        </Suspense>
      );
    default:
      return null;
  }
}
