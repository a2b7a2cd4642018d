/**
 * Returns a function that adds an item to the next group and resolves when `store` has stored it. Items that arrive in
 * the same turn of the event loop, or while a group is stored, share a group.
 */
export function createGroups<T>(store: (items: T[]) => Promise<unknown>): (item: T) => Promise<void> {
  let items: T[] = [];
  let next: Promise<void> | undefined;
  let current: Promise<unknown> = Promise.resolve();
  const flush = async (): Promise<void> => {
    await current;
    // The writers of the last group join the next one.
    await new Promise((resolve) => setImmediate(resolve));
    const group = items;
    items = [];
    next = undefined;
    await (current = store(group));
  };
  return (item) => {
    items.push(item);
    return (next ??= flush());
  };
}
