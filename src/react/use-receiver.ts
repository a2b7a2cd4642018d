/**
 * Hooks that read a `Receiver`. Each hook returns one object of the view and re-renders its component only when that
 * object changes, so a new token re-renders one message.
 */
import { useMemo, useSyncExternalStore } from "react";
import type { ReadableStore, Receiver, SessionView, TurnView } from "../client/index.ts";
import type { MessageView, ReceiverView } from "../client/view.ts";

/**
 * Returns the whole view of a receiver and re-renders on every change. Prefer `useSession`, `useRun` or `useMessage`.
 */
export function useReceiver(receiver: Receiver): ReceiverView {
  return useStore(receiver);
}

/**
 * Returns one session, or undefined until its first event arrives. Changes to other sessions do not re-render.
 *
 * ```ts
 * const status = useSession(receiver, "chat-7", (session) => session?.state.status);
 * ```
 */
export function useSession(receiver: Receiver, sessionId: string): SessionView | undefined;
/** Returns `select(session)` and re-renders only when the result changes. */
export function useSession<S>(
  receiver: Receiver,
  sessionId: string,
  select: (session: SessionView | undefined) => S,
): S;
export function useSession<S>(
  receiver: Receiver,
  sessionId: string,
  select: (session: SessionView | undefined) => S | SessionView | undefined = identity,
): S | SessionView | undefined {
  const store = useMemo(() => receiver.session(sessionId), [receiver, sessionId]);
  return useStore(store, select);
}

/** Returns a run by its key, or the latest run if no key is given. */
export function useRun(receiver: Receiver, sessionId: string, turnKey?: string): TurnView | undefined {
  const select = useMemo(() => (turnKey === undefined ? selectLatest : createTurnSelector(turnKey)), [turnKey]);
  return useSession(receiver, sessionId, select);
}

/**
 * Returns one message of a run, or undefined if there is no such message.
 *
 * ```ts
 * const text = useMessage(receiver, "chat-7", turn.key, messageId)?.mainContent;
 * ```
 */
export function useMessage(
  receiver: Receiver,
  sessionId: string,
  turnKey: string,
  messageId: string,
): MessageView | undefined {
  const select = useMemo(() => {
    const findTurn = createTurnSelector(turnKey);
    return (session: SessionView | undefined) =>
      findTurn(session)?.messages.find((message) => message.messageId === messageId);
  }, [turnKey, messageId]);
  return useSession(receiver, sessionId, select);
}

function selectLatest(session: SessionView | undefined): TurnView | undefined {
  return session?.turns.at(-1);
}

/**
 * Returns a selector that finds a run by its key, for use with `useSession`. It remembers the last index, and that a run is
 * missing until a run is added, so it rarely searches the whole session.
 */
export function createTurnSelector(turnKey: string): (session: SessionView | undefined) => TurnView | undefined {
  let at = 0;
  let searched: { readonly count: number; readonly lastKey: string | undefined } | undefined;
  return (session) => {
    const turns = session?.turns ?? [];
    const [count, lastKey] = [turns.length, turns.at(-1)?.key];
    const isMissing = at < 0 && searched?.count === count && searched.lastKey === lastKey;
    if (!isMissing && turns[at]?.key !== turnKey) {
      at = turns.findLastIndex((turn) => turn.key === turnKey);
      searched = { count, lastKey };
    }
    return turns[at];
  };
}

function identity<T>(value: T): T {
  return value;
}

/**
 * Returns the current value of the store, also during server rendering and hydration. The component re-renders only when
 * the value changes identity. Views share unchanged objects, so selecting a part of a view needs no comparison function.
 */
export function useStore<T>(store: ReadableStore<T>): T;
/** Returns `select(value)`. The selector runs once per change; if it builds a new object, each change re-renders. */
export function useStore<T, S>(store: ReadableStore<T>, select: (value: T) => S): S;
export function useStore<T, S>(store: ReadableStore<T>, select?: (value: T) => S): T | S {
  const subscribe = useMemo(() => (listener: () => void) => store.subscribe(listener), [store]);
  const read = useMemo(() => memoizeSelector(store, select), [store, select]);
  return useSyncExternalStore(subscribe, read, read);
}

/**
 * React may read several times per change and treats a new object as a change, so equal values must return the same
 * selection.
 */
function memoizeSelector<T, S>(store: ReadableStore<T>, select: ((value: T) => S) | undefined): () => T | S {
  if (select === undefined) return () => store.getSnapshot();
  let last: { readonly value: T; readonly selected: S } | undefined;
  return () => {
    const value = store.getSnapshot();
    if (last === undefined || !Object.is(last.value, value)) last = { value, selected: select(value) };
    return last.selected;
  };
}
