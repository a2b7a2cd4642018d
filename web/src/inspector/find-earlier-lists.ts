/** Finds the to-do lists that existed before a run. */
import type { SessionView, TodoList } from "loom-agent/client";

/** Returns the lists that neither this run nor a later one created. */
export function findEarlierLists(session: SessionView | undefined, turnKey: string): TodoList[] {
  if (session === undefined || session.todoLists.length === 0) return [];
  const from = session.turns.findLastIndex(({ key }) => key === turnKey);
  if (from <= 0) return [];
  const later = new Set<string>();
  for (const turn of session.turns.slice(from))
    for (const part of turn.messages.at(-1)?.parts ?? []) if (part.type === "todo") later.add(part.listId);
  return session.todoLists.filter(({ listId }) => !later.has(listId));
}
