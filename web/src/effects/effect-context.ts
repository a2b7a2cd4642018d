/** Shared context of the page's effects. Only effects talk to the server; components call effects. */
import type { Connection, Receiver } from "loom-agent/client";
import { describeFailure } from "../api/api-error.ts";
import type { Api } from "../api/create-api.ts";
import type { ReducerStore } from "../store/create-store.ts";
import type { PageAction, PageState, PageTask } from "../store/page-state.ts";

export interface EffectContext {
  readonly api: Api;
  readonly store: ReducerStore<PageState, PageAction>;
  readonly receiver: Receiver;
  /** Returns the connection of a session, and opens it if needed. */
  connectionTo(session: string): Connection;
  disconnect(session: string): void;
  /** Shows a session; undefined shows a new one. `isNew`: the server does not know the session yet. */
  open(session: string | undefined, options?: { readonly isNew?: boolean }): void;
  createId(): string;
  /** Tells the other tabs that sessions have changed. */
  notifyTabs(): void;
}

/** Runs a task. On failure it raises a notice and returns undefined. */
export async function attempt<T>(
  context: EffectContext,
  task: PageTask,
  work: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    const failure = describeFailure(error);
    // An `unauthorized` response shows the sign-in form, so a notice would be redundant.
    if (failure.code !== "aborted" && failure.code !== "unauthorized")
      context.store.dispatch({ type: "notice/raised", task, ...failure });
    return undefined;
  }
}

/** Returns 128 random bits as hex. `crypto.randomUUID` is missing on plain-HTTP pages outside localhost. */
export function createId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
