/** The conversation, or its placeholder: suggestions, a spinner or an error. */
import { type ReactNode, type RefObject, useEffect, useMemo, useState } from "react";
import type { SessionView } from "loom-agent/client";
import { Button, type ConversationHandle, Spinner, useSession, useWords } from "../../../src/react/page-parts.ts";
import { Start } from "../start/start.tsx";
import { findDraft, findWaiting, NO_DRAFT } from "../store/composing.ts";
import type { PageState } from "../store/page-state.ts";
import type { SessionConversation } from "./session-conversation.tsx";
import { useMay, usePage, usePageState } from "./page-context.tsx";
import { SHELL_WORDS } from "./shell-words.ts";
import { ROOMY, useMedia } from "./use-media.ts";

export interface ConversationPaneProps {
  readonly session: string | undefined;
  readonly handle: RefObject<ConversationHandle | null>;
}

export function ConversationPane({ session, handle }: ConversationPaneProps): ReactNode {
  const loaded = useLoadedConversation(session !== undefined);
  if (session !== undefined && loaded !== undefined)
    return (
      <loaded.SessionConversation session={session} handle={handle}>
        <EmptyConversation session={session} />
      </loaded.SessionConversation>
    );
  return (
    <div className="loom-conversation loom-conversation-empty">
      {session === undefined ? <EmptyConversation session={session} /> : <Loading />}
    </div>
  );
}

interface ConversationModule {
  readonly SessionConversation: typeof SessionConversation;
}

/** A page that shows no conversation loads the code of conversations this long after it was shown. */
const IDLE_MS = 1500;

/**
 * Not with `lazy`: it shows its fallback for a moment even if the code has arrived, and a first message would flash.
 */
function useLoadedConversation(isNeeded: boolean): ConversationModule | undefined {
  const [loaded, setLoaded] = useState<ConversationModule>();
  const [failure, setFailure] = useState<{ readonly error: unknown }>();
  useEffect(() => {
    if (loaded !== undefined) return undefined;
    const load = (onFailure: (error: unknown) => void): void =>
      void import("./session-conversation.tsx").then(setLoaded, onFailure);
    if (isNeeded) {
      load((error) => setFailure({ error }));
      return undefined;
    }
    const timer = setTimeout(() => load(() => undefined), IDLE_MS);
    return () => clearTimeout(timer);
  }, [isNeeded, loaded]);
  if (failure !== undefined) throw failure.error;
  return loaded;
}

/**
 * What an empty session waits for: `start`: its first message, which may be sent; `sent`: the run of its first message;
 * undefined: something else, or it is not empty.
 */
export function useBeginning(session: string | undefined): "start" | "sent" | undefined {
  const page = usePage();
  const found = useSession(page.receiver, session ?? "", findEmptyReason);
  const isEmpty = useSession(page.receiver, session ?? "", selectIsEmpty);
  const [selectHasFirst, selectMayStart] = useMemo(
    () =>
      [
        ({ composing }: PageState): boolean =>
          findWaiting(composing, session).some(({ status }) => status !== "failed"),
        ({ composing, sessions }: PageState): boolean => sessions.isNew || findDraft(composing, session) !== NO_DRAFT,
      ] as const,
    [session],
  );
  const hasFirst = usePageState(selectHasFirst);
  const mayStart = usePageState(selectMayStart);
  if (!isEmpty) return undefined;
  if (hasFirst) return "sent";
  return session === undefined || found === "new" || mayStart ? "start" : undefined;
}

export type EmptyReason = "new" | "loading" | "gone" | "failed";

/** Tells why a session is empty: `new`, `loading`, `gone` (does not exist) or `failed` (cannot be loaded). */
export function findEmptyReason(session: SessionView | undefined): EmptyReason {
  const { status, reason } = session?.state ?? {};
  if (reason?.code === "unknown_session") return "gone";
  if (status === "live" || status === "complete") return "new";
  return status === "failed" || status === "truncated" ? "failed" : "loading";
}

const selectIsEmpty = (view: SessionView | undefined): boolean => (view?.turns.length ?? 0) === 0;

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
      return null;
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

function Loading(): ReactNode {
  const words = useWords(SHELL_WORDS);
  return (
    <p className="page-loading" role="status">
      <Spinner /> {words.loading}
    </p>
  );
}
