/** The conversation of a session. Loaded on demand: a new session has none. */
import { type ReactNode, type RefObject, useEffect, useMemo } from "react";
import type { SessionView } from "loom-agent/client";
import {
  Button,
  Conversation,
  type ConversationHandle,
  findLiveRun,
  Icon,
  splitWaiting,
  UiStateCache,
  useRun,
  useSession,
  useWords,
} from "../../../src/react/page-parts.ts";
import { findWaiting } from "../store/composing.ts";
import { findOpenedRun } from "../store/versions.ts";
import { useMay, usePage, usePageState } from "./page-context.tsx";
import { SHELL_WORDS } from "./shell-words.ts";

export interface SessionConversationProps {
  readonly session: string;
  readonly handle: RefObject<ConversationHandle | null>;
  /** Shown while it is empty. */
  readonly children: ReactNode;
}

export function SessionConversation({ session, handle, children }: SessionConversationProps): ReactNode {
  const page = usePage();
  const waiting = usePageState(({ composing }) => findWaiting(composing, session));
  const isLive = useSession(page.receiver, session, (view) => findLiveRun(view) !== undefined);
  const pending = useMemo(() => splitWaiting(waiting, isLive).next, [waiting, isLive]);
  return (
    <>
      <Conversation
        key={session}
        pending={pending}
        ref={handle}
        receiver={page.receiver}
        sessionId={session}
        uiStateCache={getUiState(page.uiStates, session)}
      >
        {children}
      </Conversation>
      <DeletedNote session={session} />
      <OpenedVersion session={session} handle={handle} />
      <OpenedResult session={session} handle={handle} />
    </>
  );
}

type OpenedProps = Omit<SessionConversationProps, "children">;

/** Scrolls to the run where the version that the user opened differs. */
function OpenedVersion({ session, handle }: OpenedProps): ReactNode {
  const page = usePage();
  const run = usePageState(({ versions }) => findOpenedRun(versions, session)) ?? "";
  const isLoaded = useRun(page.receiver, session, run) !== undefined;
  useEffect(() => {
    if (!isLoaded) return;
    handle.current?.show({ turn: run, kind: "turn", key: "" });
    page.dispatch({ type: "version/shown" });
  }, [isLoaded, run]);
  return null;
}

/** Scrolls to the search result that the user opened, and highlights the query while the result is open. */
function OpenedResult({ session, handle }: OpenedProps): ReactNode {
  const page = usePage();
  const match = usePageState(({ sessions }) => sessions.match);
  const shown = match?.session === session ? match : undefined;
  const run = shown?.runId ?? "";
  const isLoaded = useRun(page.receiver, session, run) !== undefined;
  useEffect(() => {
    const root = document.querySelector(".loom-conversation");
    if (shown === undefined || root === null || !isLoaded) return undefined;
    handle.current?.show({ turn: run, kind: "turn", key: "" });
    let stop = (): void => undefined;
    let isOver = false;
    void import("./highlight-match.ts").then(({ highlightMatch }) => {
      if (!isOver) stop = highlightMatch(root, shown.query, run);
    });
    return () => {
      isOver = true;
      stop();
    };
  }, [shown, isLoaded, run, handle]);
  return null;
}

/** Sessions whose UI state (open parts, unfinished edits) is kept. */
const MAX_UI_STATES = 8;

function getUiState(all: Map<string, UiStateCache>, session: string): UiStateCache {
  const state = all.get(session) ?? new UiStateCache();
  all.delete(session);
  all.set(session, state);
  for (const oldest of all.keys()) {
    if (all.size <= MAX_UI_STATES) break;
    all.delete(oldest);
  }
  return state;
}

function selectIsDeleted(session: SessionView | undefined): boolean {
  const { status, reason } = session?.state ?? {};
  return status === "failed" && reason?.code === "unknown_session" && (session?.turns.length ?? 0) > 0;
}

/** Tells that another client deleted the session, whose content is still shown. */
function DeletedNote({ session }: { readonly session: string }): ReactNode {
  const words = useWords(SHELL_WORDS);
  const page = usePage();
  const mayRun = useMay("run");
  if (!useSession(page.receiver, session, selectIsDeleted)) return null;
  return (
    <div className="page-deleted" role="status">
      <Icon name="alert" />
      <span>{mayRun ? words.deleted : words.deletedOnly}</span>
      {mayRun ? (
        <Button icon="add" onClick={() => page.open(undefined)}>
          {words.startNew}
        </Button>
      ) : null}
    </div>
  );
}
