/** Effect context for tests, with a fake API and fake connections. */
import type { CommandResult, Connection, Receiver, SessionView, StreamStatus, TurnView } from "loom-agent/client";
import type { Api } from "../../web/src/api/create-api.ts";
import { createStore } from "../../web/src/store/create-store.ts";
import { createPageState, reducePage } from "../../web/src/store/page-state.ts";
import type { EffectContext } from "../../web/src/effects/effect-context.ts";

export interface FakeEffectContext extends EffectContext {
  /** Calls of the API and of connections, in order. */
  readonly calls: (readonly [what: string, ...values: unknown[]])[];
  readonly opened: (string | undefined)[];
  /** Sets the turns of a session and notifies its listeners. */
  show(session: string, turns: readonly TurnView[], status?: StreamStatus, isCatchingUp?: true): void;
}

export function createFakeContext(
  answer: (what: string, ...values: unknown[]) => unknown = () => undefined,
  outcome: () => CommandResult = () => ({ kind: "done" }),
): FakeEffectContext {
  const calls: FakeEffectContext["calls"] = [];
  const opened: FakeEffectContext["opened"] = [];
  const views = new Map<string, SessionView>();
  const listeners = new Map<string, Set<() => void>>();
  const store = createStore(reducePage, createPageState({ language: "en", theme: "system", hasSidebar: true }));
  const auth = { mode: "open", signed_in: false, scopes: [], shared_session_ids: [] } as const;
  store.dispatch({ type: "access/loaded", auth, shared: undefined, now: 0 });
  let count = 0;
  const record = (what: string, values: readonly unknown[]): void => void calls.push([what, ...values]);
  const api = new Proxy({} as Api, {
    get:
      (_target, what: string) =>
      async (...values: unknown[]) => {
        record(what, values);
        return answer(what, ...values);
      },
  });
  const connectionTo = (session: string): Connection =>
    new Proxy({} as Connection, {
      get:
        (_target, what: string) =>
        async (...values: unknown[]) => {
          record(what, [session, ...values]);
          return outcome();
        },
    });
  const receiver = {
    session: (id: string) => ({
      getSnapshot: () => views.get(id),
      subscribe(listener: () => void) {
        const held = listeners.get(id) ?? new Set();
        listeners.set(id, held.add(listener));
        return () => void held.delete(listener);
      },
    }),
  } as unknown as Receiver;
  return {
    api,
    store,
    receiver,
    calls,
    opened,
    connectionTo,
    disconnect: (session) => record("disconnect", [session]),
    open(session) {
      opened.push(session);
      store.dispatch({ type: "session/opened", session });
    },
    createId: () => `id${++count}`,
    notifyTabs: () => undefined,
    show(session, turns, status = "live", isCatchingUp) {
      views.set(session, { id: session, turns, state: { status, isCatchingUp } } as unknown as SessionView);
      for (const listener of listeners.get(session) ?? []) listener();
    },
  };
}

export function createTurn(given: Partial<TurnView>): TurnView {
  return { key: given.runId ?? "t", status: "running", messages: [], ...given } as TurnView;
}
