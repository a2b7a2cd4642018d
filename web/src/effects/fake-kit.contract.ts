/** What the effects of the page work with, in a test: a server and a connection that say what they are told to. */
import type { CommandOutcome, Connection, Receiver, SessionView, StreamStatus, TurnView } from "loom-agent/client";
import type { Api } from "../api/create-api.ts";
import { createStore } from "../store/create-store.ts";
import { createPageState, reducePage } from "../store/page-state.ts";
import type { Kit } from "./kit.ts";

export interface FakeKit extends Kit {
  /** What was asked of the server and of connections, in order. */
  readonly asked: (readonly [what: string, ...values: unknown[]])[];
  readonly opened: (string | undefined)[];
  /** Shows these runs, and tells who watches. */
  show(session: string, turns: readonly TurnView[], status?: StreamStatus): void;
}

export function createFakeKit(
  answer: (what: string, ...values: unknown[]) => unknown = () => undefined,
  outcome: () => CommandOutcome = () => ({ kind: "done" }),
): FakeKit {
  const asked: FakeKit["asked"] = [];
  const opened: FakeKit["opened"] = [];
  const views = new Map<string, SessionView>();
  const listeners = new Map<string, Set<() => void>>();
  const store = createStore(reducePage, createPageState({ language: "en", theme: "system", hasSidebar: true }));
  const auth = { mode: "open", signed_in: false, scopes: [], shared_session_ids: [] } as const;
  store.dispatch({ type: "access/told", auth, shared: undefined, now: 0 });
  let count = 0;
  const note = (what: string, values: readonly unknown[]): void => void asked.push([what, ...values]);
  const api = new Proxy({} as Api, {
    get:
      (_target, what: string) =>
      async (...values: unknown[]) => {
        note(what, values);
        return answer(what, ...values);
      },
  });
  const connectionTo = (session: string): Connection =>
    new Proxy({} as Connection, {
      get:
        (_target, what: string) =>
        async (...values: unknown[]) => {
          note(what, [session, ...values]);
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
    asked,
    opened,
    connectionTo,
    disconnect: (session) => note("disconnect", [session]),
    open(session) {
      opened.push(session);
      store.dispatch({ type: "session/opened", session });
    },
    createId: () => `id${++count}`,
    show(session, turns, status = "live") {
      views.set(session, { id: session, turns, state: { status } } as unknown as SessionView);
      for (const listener of listeners.get(session) ?? []) listener();
    },
  };
}

export function createTurn(given: Partial<TurnView>): TurnView {
  return { key: given.runId ?? "t", status: "running", messages: [], ...given } as TurnView;
}
