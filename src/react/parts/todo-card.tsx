/** A to-do list of the session as it stands now, which a reader may tick whether its run goes on or is long over. */
import { type ReactNode, useEffect, useMemo, useReducer, useState } from "react";
import type { TodoItem, TodoList } from "../../client/index.ts";
import { formatNumber } from "../ui/format.ts";
import { Icon } from "../ui/icon.tsx";
import { ProgressBar } from "../ui/indicators.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { COMMAND_WORDS, tellTrouble } from "./command-words.ts";
import { cutHead } from "./cut-text.ts";
import { ShortText } from "./log-box.tsx";
import { TodoWishes } from "./todo-wishes.ts";

const WORDS = defineWords({
  en: {
    untitled: "To-do list",
    done: (done: string, all: string) => `${done} of ${all}`,
    progress: "Done so far",
    more: (count: string) => `Show ${count} more`,
    gone: "This list is no longer kept.",
    empty: "Nothing is on this list.",
    putBack: (item: string, why: string) => `“${item}” was put back. ${why}`,
  },
  zh: {
    untitled: "待办清单",
    done: (done: string, all: string) => `${done} / ${all}`,
    progress: "完成进度",
    more: (count: string) => `再显示 ${count} 项`,
    gone: "此清单已不再保留。",
    empty: "清单为空。",
    putBack: (item: string, why: string) => `“${item}”已恢复原状。${why}`,
  },
});

const STEP = 50;
const MAX_TITLE = 200;
const MAX_QUOTED = 60;

export interface TodoCardProps {
  /** Undefined where the session does not have it any more. */
  readonly list: TodoList | undefined;
}

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
  const wishes = useTodoWishes(listId, items);
  const shown = items.map((item) => ({ item, isDone: wishes?.read(item) ?? item.completed }));
  const done = shown.filter(({ isDone }) => isDone).length;
  const name = title === undefined || title === "" ? words.untitled : cutHead(title, MAX_TITLE);
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
                onChange={(event) => wishes?.wish(item.id, event.target.checked)}
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
      <TodoTroubleLine wishes={wishes} items={items} />
    </div>
  );
}

function TodoTroubleLine({
  wishes,
  items,
}: {
  readonly wishes: TodoWishes | undefined;
  readonly items: readonly TodoItem[];
}): ReactNode {
  const words = useWords(WORDS);
  const commandWords = useWords(COMMAND_WORDS);
  const trouble = wishes?.trouble;
  if (trouble === undefined) return null;
  const text = items.find(({ id }) => id === trouble.itemId)?.text ?? trouble.itemId;
  return (
    <p className="loom-todo-trouble" role="alert">
      {words.putBack(cutHead(text, MAX_QUOTED), tellTrouble(trouble.outcome, commandWords) ?? "")}
    </p>
  );
}

/** Undefined where nothing can be changed. */
function useTodoWishes(listId: string, items: readonly TodoItem[]): TodoWishes | undefined {
  const { actions } = useUi();
  const [, render] = useReducer((count: number) => count + 1, 0);
  const canChange = actions.changeTodo !== undefined;
  // A page may give other actions with each rendering; the ones of the moment are asked.
  const [latest] = useState({ actions });
  latest.actions = actions;
  const wishes = useMemo(() => {
    if (!canChange) return undefined;
    return new TodoWishes(
      (itemId, completed) =>
        latest.actions.changeTodo?.({ listId, itemId, completed }) ?? Promise.reject(new Error("nobody takes it")),
      render,
    );
  }, [canChange, listId, latest]);
  useEffect(() => wishes?.settle(items), [wishes, items]);
  useEffect(() => () => wishes?.close(), [wishes]);
  return wishes;
}
