/** What the effects of the page share. They alone talk to the server; components only call them. */
import type { Connection, Receiver } from "loom-agent/client";
import { describeFailure } from "../api/api-error.ts";
import type { Api } from "../api/create-api.ts";
import type { ReducerStore } from "../store/create-store.ts";
import type { PageAction, PageState, Task } from "../store/page-state.ts";

export interface Kit {
  readonly api: Api;
  readonly store: ReducerStore<PageState, PageAction>;
  readonly receiver: Receiver;
  /** The connection to a session, made where there is none. */
  connectionTo(session: string): Connection;
  disconnect(session: string): void;
  /** Shows a session; undefined: a new one. `isUnmade`: the server has not heard of it. */
  open(session: string | undefined, options?: { readonly isUnmade?: boolean }): void;
  createId(): string;
}

/** What goes wrong becomes a notice; undefined then. */
export async function attempt<T>(kit: Kit, task: Task, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    const failure = describeFailure(error);
    // Who is not known is asked to sign in, which says it all.
    if (failure.code !== "aborted" && failure.code !== "unauthorized")
      kit.store.dispatch({ type: "notice/raised", task, ...failure });
    return undefined;
  }
}

/** 128 bits of chance. `crypto.randomUUID` is not there on a page that came by plain HTTP from elsewhere. */
export function createId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
