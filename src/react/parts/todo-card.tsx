/** A to-do list of the session. Users can tick items during and after the run. */
import { type ReactNode, useEffect, useMemo, useReducer, useState } from "react";
import type { TodoList } from "../../client/index.ts";
import type { TodoItem } from "../../client/view.ts";
import { formatNumber } from "../ui/format.ts";
import { Icon } from "../ui/icon.tsx";
import { ProgressBar } from "../ui/indicators.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { COMMAND_WORDS, describeCommandFailure } from "./command-words.ts";
import { ShortText } from "./log-box.tsx";
import { PendingTodoChanges } from "./pending-todo-changes.ts";
import { cutText } from "../../protocol/cut-text.ts";

const WORDS = defineWords({
  en: {
    untitled: "To-do list",
    done: (done: string, all: string) => `${done} of ${all}`,
    progress: "Progress",
    more: (count: string) => `Show ${count} more`,
    gone: "List no longer available.",
    empty: "No items.",
    failed: (item: string, why: string) => `Couldn't update “${item}”. ${why}`,
  },
  zh: {
    untitled: "待办清单",
    done: (done: string, all: string) => `${done} / ${all}`,
    progress: "完成进度",
    more: (count: string) => `再显示 ${count} 项`,
    gone: "此清单已不存在。",
    empty: "暂无事项。",
    failed: (item: string, why: string) => `“${item}”更新失败。${why}`,
  },
});

const STEP = 50;
const MAX_TITLE = 200;
const MAX_QUOTED = 60;

export interface TodoCardProps {
  /** Undefined if the session no longer has the list. */
  readonly list: TodoList | undefined;
}

/**
 * Shows a to-do list. Items can be ticked if `UiActions.changeTodo` is given.
 *
 * ```tsx
 * <TodoCard list={session.todoLists.find(({ listId }) => listId === part.listId)} />
 * ```
 */
export function TodoCard({ list }: TodoCardProps): ReactNode {
  const words = useWords(WORDS);
  return list === undefined ? (
    <p className="loom-card loom-todo-note">{words.gone}</p>
  ) : (
    <OpenTodo key={list.listId} list={list} />
  );
}

function OpenTodo({ list: { listId, title, items } }: { readonly list: TodoList }): ReactNode {
  const words = useWords(WORDS);
  const { language, actions } = useUi();
  const [limit, setLimit] = useState(STEP);
  const changes = usePendingTodoChanges(listId, items);
  const shown = items.map((item) => ({ item, isDone: changes?.read(item) ?? item.completed }));
  const done = shown.filter(({ isDone }) => isDone).length;
  const name = title === undefined || title === "" ? words.untitled : cutText(title, MAX_TITLE);
  const left = items.length - limit;
  return (
    <div className="loom-card loom-todo" role="group" aria-label={name}>
      <div className="loom-todo-head">
        <Icon name="list" />
        <span className="loom-todo-title">{name}</span>
        <span className="loom-todo-count">
          {words.done(formatNumber(done, language), formatNumber(items.length, language))}
        </span>
      </div>
      {items.length === 0 ? (
        <p className="loom-todo-note">{words.empty}</p>
      ) : (
        <ProgressBar value={(100 * done) / items.length} label={words.progress} />
      )}
      <ul className="loom-todo-items">
        {shown.slice(0, limit).map(({ item, isDone }) => (
          <li key={item.id}>
            <label className="loom-todo-item" data-done={isDone}>
              <input
                type="checkbox"
                checked={isDone}
                disabled={actions.changeTodo === undefined}
                onChange={(event) => changes?.change(item.id, event.target.checked)}
              />
              <ShortText text={item.text} />
            </label>
          </li>
        ))}
      </ul>
      {left > 0 ? (
        <button type="button" className="loom-more" onClick={() => setLimit(limit + STEP)}>
          {words.more(formatNumber(Math.min(left, STEP), language))}
        </button>
      ) : null}
      <TodoFailureLine changes={changes} items={items} />
    </div>
  );
}

function TodoFailureLine({
  changes,
  items,
}: {
  readonly changes: PendingTodoChanges | undefined;
  readonly items: readonly TodoItem[];
}): ReactNode {
  const words = useWords(WORDS);
  const commandWords = useWords(COMMAND_WORDS);
  const failure = changes?.failure;
  if (failure === undefined) return null;
  const text = items.find(({ id }) => id === failure.itemId)?.text ?? failure.itemId;
  return (
    <p className="loom-todo-trouble" role="alert">
      {words.failed(cutText(text, MAX_QUOTED), describeCommandFailure(failure.outcome, commandWords) ?? "")}
    </p>
  );
}

/** Returns undefined if the list is read-only. */
function usePendingTodoChanges(listId: string, items: readonly TodoItem[]): PendingTodoChanges | undefined {
  const { actions } = useUi();
  const [, render] = useReducer((count: number) => count + 1, 0);
  const canChange = actions.changeTodo !== undefined;
  // A page may pass new actions on each render; always use the latest.
  const [latest] = useState({ actions });
  latest.actions = actions;
  const changes = useMemo(() => {
    if (!canChange) return undefined;
    return new PendingTodoChanges(
      (itemId, completed) =>
        latest.actions.changeTodo?.({ listId, itemId, completed }) ??
        Promise.reject(new Error("To-do changes are not available.")),
      render,
    );
  }, [canChange, listId, latest]);
  useEffect(() => changes?.settle(items), [changes, items]);
  useEffect(() => () => changes?.close(), [changes]);
  return changes;
}
