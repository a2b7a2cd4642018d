/** The conversation, or its placeholder: suggestions, a spinner or an error. */
import { type ReactNode, type RefObject, useEffect, useMemo } from "react";
import type { SessionView } from "loom-agent/client";
import {
  Button,
  Conversation,
  type ConversationHandle,
  findLiveRun,
  Icon,
  Spinner,
  splitWaiting,
  UiStateCache,
  useRun,
  useSession,
  useWords,
} from "../../../src/react/page-parts.ts";
import { Start } from "../start/start.tsx";
import { findDraft, findWaiting, NO_DRAFT, type WaitingMessage } from "../store/composing.ts";
import type { PageState } from "../store/page-state.ts";
import type { OpenedMatch } from "../store/sessions.ts";
import { findOpenedRun } from "../store/versions.ts";
import { findEmptyReason } from "./find-empty-reason.ts";
import { useMay, usePage, usePageState } from "./page-context.tsx";
import { SHELL_WORDS } from "./shell-words.ts";
import { ROOMY, useMedia } from "./use-media.ts";

export interface ConversationPaneProps {
  readonly session: string | undefined;
  readonly handle: RefObject<ConversationHandle | null>;
}

const selectIsLive = (session: SessionView | undefined): boolean => findLiveRun(session) !== undefined;

export function ConversationPane({ session, handle }: ConversationPaneProps): ReactNode {
  const page = usePage();
  const name = session ?? "";
  const selectWaiting = useMemo(
    () =>
      ({ composing }: PageState): readonly WaitingMessage[] =>
        findWaiting(composing, session),
    [session],
  );
  const waiting = usePageState(selectWaiting);
  const isLive = useSession(page.receiver, name, selectIsLive);
  const pending = useMemo(() => splitWaiting(waiting, isLive).next, [waiting, isLive]);
  return (
    <>
      <Conversation
        key={name}
        pending={pending}
        ref={handle}
        receiver={page.receiver}
        sessionId={name}
        uiStateCache={getUiState(page.uiStates, name)}
      >
        <EmptyConversation session={session} />
      </Conversation>
      {session === undefined ? null : <DeletedNote session={session} />}
      {session === undefined ? null : <OpenedVersion session={session} handle={handle} />}
      {session === undefined ? null : <OpenedResult session={session} handle={handle} />}
    </>
  );
}

/** Scrolls to the run where the version that the user opened differs. */
function OpenedVersion({ session, handle }: ConversationPaneProps & { readonly session: string }): ReactNode {
  const page = usePage();
  const select = useMemo(
    () =>
      ({ versions }: PageState) =>
        findOpenedRun(versions, session),
    [session],
  );
  const run = usePageState(select) ?? "";
  const isLoaded = useRun(page.receiver, session, run) !== undefined;
  useEffect(() => {
    if (!isLoaded) return;
    handle.current?.show({ turn: run, kind: "turn", key: "" });
    page.dispatch({ type: "version/shown" });
  }, [isLoaded, run]);
  return null;
}

const selectMatch = ({ sessions }: PageState): OpenedMatch | undefined => sessions.match;

/** Scrolls to the search result that the user opened, and highlights the query while the result is open. */
function OpenedResult({ session, handle }: ConversationPaneProps & { readonly session: string }): ReactNode {
  const page = usePage();
  const match = usePageState(selectMatch);
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
      return (
        <p className="page-loading" role="status">
          <Spinner /> {words.loading}
        </p>
      );
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
