/** The conversation, or its placeholder: suggestions, a spinner or an error. */
import { type ReactNode, type RefObject, useEffect, useState } from "react";
import type { SessionView } from "loom-agent/client";
import { Button, type ConversationHandle, Spinner, useSession, useWords } from "../../../src/react/page-parts.ts";
import { Start } from "../start/start.tsx";
import { findDraft, findWaiting, NO_DRAFT } from "../store/composing.ts";
import type { SessionConversation } from "./session-conversation.tsx";
import { useMay, usePage, usePageState } from "./page-context.tsx";
import { SHELL_WORDS } from "./shell-words.ts";
import { ROOMY, useMedia } from "./use-media.ts";

export interface ConversationPaneProps {
  readonly session: string | undefined;
  readonly handle: RefObject<ConversationHandle | null>;
}

export function ConversationPane({ session, handle }: ConversationPaneProps): ReactNode {
  const { loaded, failure, retry } = useLoadedConversation(session !== undefined);
  if (session !== undefined && loaded !== undefined)
    return (
      <loaded.SessionConversation session={session} handle={handle}>
        <EmptyConversation session={session} />
      </loaded.SessionConversation>
    );
  return (
    <div className="loom-conversation loom-conversation-empty">
      {session === undefined ? (
        <EmptyConversation session={session} />
      ) : failure === undefined ? (
        <LateLoading />
      ) : (
        <LoadFailure failure={failure} onRetry={retry} />
      )}
    </div>
  );
}

interface ConversationModule {
  readonly SessionConversation: typeof SessionConversation;
}

/** The agents are loaded: the first view needs nothing more. */

/** A page without a session loads the code of conversations this long after it is ready. */
const IDLE_MS = 1000;

/**
 * Loads the code of conversations when one is shown, else when the page is idle. Not with `lazy`: it shows its fallback
 * for a moment even if the code has arrived, and a first message would flash.
 */
function useLoadedConversation(isNeeded: boolean): {
  readonly loaded: ConversationModule | undefined;
  readonly failure: string | undefined;
  readonly retry: () => void;
} {
  const [loaded, setLoaded] = useState<ConversationModule>();
  const [failure, setFailure] = useState<string>();
  const [attempt, setAttempt] = useState(0);
  const isIdle = useLasts(
    usePageState(({ agents }) => agents.length > 0),
    IDLE_MS,
  );
  useEffect(() => {
    if (loaded !== undefined || !(isNeeded || isIdle)) return;
    setFailure(undefined);
    void import("./session-conversation.tsx").then(setLoaded, (error: unknown) =>
      setFailure(error instanceof Error ? error.message : String(error)),
    );
  }, [isNeeded, isIdle, loaded, attempt]);
  const retry = (): void => setAttempt((count) => count + 1);
  return { loaded, failure, retry };
}

/** Offline, or a new version of the page has replaced the code: then only a reload helps. */
export function LoadFailure({
  failure,
  onRetry,
}: {
  readonly failure: string;
  readonly onRetry: () => void;
}): ReactNode {
  const words = useWords(SHELL_WORDS);
  useEffect(() => {
    addEventListener("online", onRetry);
    return () => removeEventListener("online", onRetry);
  }, [onRetry]);
  return (
    <section className="page-failure" role="alert">
      <h2>{words.notLoadedTitle}</h2>
      <code>{failure}</code>
      <div className="page-dialog-buttons">
        <Button onClick={() => location.reload()}>{words.reload}</Button>
        <Button icon="retry" variant="primary" onClick={onRetry}>
          {words.again}
        </Button>
      </div>
    </section>
  );
}

/**
 * What an empty session waits for: `start`: its first message, which may be sent; `sent`: the run of its first message;
 * undefined: something else, or it is not empty.
 */
export function useBeginning(session: string | undefined): "start" | "sent" | undefined {
  const page = usePage();
  const found = useSession(page.receiver, session ?? "", findEmptyReason);
  const isEmpty = useSession(page.receiver, session ?? "", (view) => (view?.turns.length ?? 0) === 0);
  const staysEmpty = useLasts(isEmpty && found === "new", EMPTY_MS);
  const hasFirst = usePageState(({ composing }) =>
    findWaiting(composing, session).some(({ status }) => status !== "failed"),
  );
  const mayStart = usePageState(
    ({ composing, sessions }) => sessions.isNew || findDraft(composing, session) !== NO_DRAFT,
  );
  if (!isEmpty) return undefined;
  if (hasFirst) return "sent";
  return session === undefined || staysEmpty || mayStart ? "start" : undefined;
}

/** The stream of a session is live before its first frames arrive. Later, the session has none. */
const EMPTY_MS = 1000;

/** Whether something is true, and was all this time. */
function useLasts(isTrue: boolean, ms: number): boolean {
  const [lasts, setLasts] = useState(false);
  useEffect(() => {
    if (!isTrue) return undefined;
    const timer = setTimeout(() => setLasts(true), ms);
    return () => {
      clearTimeout(timer);
      setLasts(false);
    };
  }, [isTrue, ms]);
  return isTrue && lasts;
}

export type EmptyReason = "new" | "loading" | "gone" | "failed";

/** Tells why a session is empty: `new`, `loading`, `gone` (does not exist) or `failed` (cannot be loaded). */
export function findEmptyReason(session: SessionView | undefined): EmptyReason {
  const { status, reason } = session?.state ?? {};
  if (reason?.code === "unknown_session") return "gone";
  if (status === "live" || status === "complete") return "new";
  return status === "failed" || status === "truncated" ? "failed" : "loading";
}

function EmptyConversation({ session }: { readonly session: string | undefined }): ReactNode {
  const words = useWords(SHELL_WORDS);
  const page = usePage();
  const mayRun = useMay("run");
  const found = useSession(page.receiver, session ?? "", findEmptyReason);
  const beginning = useBeginning(session);
  const isRoomy = useMedia(ROOMY);
  // The list of pending messages shows it.
  if (beginning === "sent") return null;
  if (beginning === "start") return <Start hasPrompts={!isRoomy} />;
  switch (found) {
    case "new":
    case "loading":
      return <Loading />;
    case "failed":
      return (
        <section className="page-start">
          <h2>{words.notLoadedTitle}</h2>
          <p>{words.notLoaded}</p>
          <Button icon="retry" variant="primary" onClick={() => page.retryStream()}>
            {words.again}
          </Button>
        </section>
      );
    case "gone":
      return (
        <section className="page-start">
          <h2>{words.goneTitle}</h2>
          <p>{words.gone}</p>
          {mayRun ? (
            <Button icon="add" variant="primary" onClick={() => page.open(undefined)}>
              {words.startNew}
            </Button>
          ) : null}
        </section>
      );
  }
}

/** The code mostly arrives within this time. */
const LATE_MS = 400;

function LateLoading(): ReactNode {
  return useLasts(true, LATE_MS) ? <Loading /> : null;
}

function Loading(): ReactNode {
  const words = useWords(SHELL_WORDS);
  return (
    <p className="page-loading" role="status">
      <Spinner /> {words.loading}
    </p>
  );
}
