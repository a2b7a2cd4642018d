/**
 * What a receiver shows, in components. Each hook gives one object of the view, and renders its component anew only when
 * that object changed: a token that comes renders one message.
 */
import { useMemo } from "react";
import type { MessageView, Receiver, ReceiverView, SessionView, TurnView } from "../client/index.ts";
import { useStore } from "./use-store.ts";

export function useReceiver(receiver: Receiver): ReceiverView {
  return useStore(receiver);
}

/** One session, undefined until it is heard of. Changes of other sessions do not reach it. */
export function useSession(receiver: Receiver, sessionId: string): SessionView | undefined;
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

/** One run by its key; the latest where none is given. */
export function useRun(receiver: Receiver, sessionId: string, turnKey?: string): TurnView | undefined {
  const select = useMemo(() => (turnKey === undefined ? selectLatest : createTurnSelector(turnKey)), [turnKey]);
  return useSession(receiver, sessionId, select);
}

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
 * For selectors of one's own: finds a run by its key. A turn mostly stands where it stood: a page of a thousand turns need
 * not search a thousand times per change.
 */
export function createTurnSelector(turnKey: string): (session: SessionView | undefined) => TurnView | undefined {
  let at = 0;
  return (session) => {
    const turns = session?.turns ?? [];
    if (turns[at]?.key !== turnKey) at = turns.findLastIndex((turn) => turn.key === turnKey);
    return turns[at];
  };
}

function identity<T>(value: T): T {
  return value;
}
