/** Page layout: session list, conversation and inspector, side by side on wide screens and stacked on narrow ones. */
import { lazy, type ReactNode, type RefObject, Suspense, useEffect, useMemo, useRef } from "react";
import type { SessionView, TurnView } from "loom-agent/client";
import {
  type ConversationHandle,
  createTurnSelector,
  type ElementTarget,
  Spinner,
  useSession,
  useWords,
} from "../../../src/react/page-parts.ts";
import { ReadOnlyNote } from "../access/read-only-note.tsx";
import { Composer } from "../composer/composer.tsx";
import { Prompts } from "../start/start.tsx";
import type { ModelPrices } from "../inspector/prices.ts";
import { Sidebar } from "../sidebar/sidebar.tsx";
import type { PageState } from "../store/page-state.ts";
import { addPosition, formatRoute, formatSharedRoute, type RunPosition } from "../store/route.ts";
import { Announcer, Notices } from "./notices.tsx";
import { DropArea } from "./drop-area.tsx";
import { Header } from "./header.tsx";
import { ConversationPane, useBeginning } from "./conversation-pane.tsx";
import { PageBoundary } from "./page-boundary.tsx";
import { useMay, usePage, usePageState } from "./page-context.tsx";
import { SHELL_WORDS } from "./shell-words.ts";
import { NARROW, NO_PANEL, ROOMY, useMedia } from "./use-media.ts";
import { focusConversation, focusSoon, useShortcuts } from "./use-shortcuts.ts";

const ActivityDialog = lazy(async () => ({
  default: (await import("../activity/activity-dialog.tsx")).ActivityDialog,
}));
const Inspector = lazy(async () => ({ default: (await import("../inspector/inspector.tsx")).Inspector }));
const KnowledgeDialog = lazy(async () => ({
  default: (await import("../knowledge/knowledge-dialog.tsx")).KnowledgeDialog,
}));

const DocumentDialog = lazy(async () => ({
  default: (await import("../knowledge/document-dialog.tsx")).DocumentDialog,
}));

const ExportDialog = lazy(async () => ({ default: (await import("../export/export-dialog.tsx")).ExportDialog }));
const ShareDialog = lazy(async () => ({ default: (await import("../access/share-dialog.tsx")).ShareDialog }));
const ShortcutsDialog = lazy(async () => ({ default: (await import("./shortcuts-dialog.tsx")).ShortcutsDialog }));
const CommandPalette = lazy(async () => ({
  default: (await import("../settings/command-palette.tsx")).CommandPalette,
}));
const SettingsDialog = lazy(async () => ({
  default: (await import("../settings/settings-dialog.tsx")).SettingsDialog,
}));

const selectIsShared = ({ access }: PageState): boolean => access.phase === "shared";
const NO_PRICES = {};
const selectPrices = ({ settings }: PageState): ModelPrices => settings.prices ?? NO_PRICES;
const selectLatest = (session: SessionView | undefined): TurnView | undefined => session?.turns.at(-1);

export function Shell(): ReactNode {
  const words = useWords(SHELL_WORDS);
  const page = usePage();
  const session = usePageState(({ sessions }) => sessions.current);
  const hasSidebar = usePageState(({ settings }) => settings.hasSidebar);
  const isDrawerOpen = usePageState(({ isDrawerOpen }) => isDrawerOpen);
  const inspector = usePageState(({ inspector }) => inspector);
  const isNarrow = useMedia(NARROW);
  const hasNoPanel = useMedia(NO_PANEL);
  const conversation = useRef<ConversationHandle>(null);
  const mayRun = useMay("run");
  // A share link gives access to one session, so there is no list.
  const isShared = usePageState(selectIsShared);
  // The message box is in the middle.
  const isStart = [useBeginning(session) === "start", useMedia(ROOMY), mayRun].every(Boolean);
  const isListShown = !isShared && (isNarrow ? isDrawerOpen : hasSidebar);
  const isSheet = inspector !== undefined && hasNoPanel;
  const toggleList = (): void => {
    if (isNarrow) page.dispatch({ type: "drawer/toggled", isOpen: !isDrawerOpen });
    else page.dispatch({ type: "sidebar/toggled" });
  };
  const showList = (): void => {
    if (!isListShown) toggleList();
  };
  useShortcuts(page, { toggleList, showList, isInspectorOnTop: isSheet });
  useDrawerFocus(isNarrow && isDrawerOpen);
  useEffect(() => focusConversation(), []);

  return (
    <div
      className="page-shell"
      data-sidebar={!isNarrow && isListShown}
      data-shared={isShared}
      data-inspector={inspector !== undefined && !isSheet}
    >
      {mayRun ? <SkipLink /> : null}
      {isNarrow && isDrawerOpen ? (
        <div className="page-backdrop" onClick={() => page.dispatch({ type: "drawer/toggled", isOpen: false })} />
      ) : null}
      {isShared ? null : (
        <aside
          id="page-sidebar"
          className="page-sidebar"
          data-open={isListShown}
          inert={!isListShown || isSheet}
          aria-label={words.sessions}
        >
          <Sidebar />
        </aside>
      )}
      <main className="page-main" data-start={isStart} inert={(isNarrow && isDrawerOpen) || isSheet}>
        <Header session={session} isListShown={isListShown} onToggleList={isShared ? undefined : toggleList} />
        <PageBoundary>
          <ConversationPane session={session} handle={conversation} />
        </PageBoundary>
        {mayRun ? <Composer session={session} onSend={() => conversation.current?.toEnd()} /> : <ReadOnlyNote />}
        {isStart ? (
          <div className="page-start-more">
            <Prompts />
          </div>
        ) : null}
      </main>
      {inspector === undefined || session === undefined ? null : (
        <InspectorPanel
          session={session}
          focus={inspector.focus}
          at={inspector.at}
          isReplay={inspector.isReplay === true}
          isSheet={isSheet}
          conversation={conversation}
        />
      )}
      <DropArea />
      <Dialogs />
      <OpenedSource />
      <Notices />
      <Announcer />
    </div>
  );
}

function SkipLink(): ReactNode {
  const words = useWords(SHELL_WORDS);
  return (
    <a
      className="page-skip"
      href="#page-message"
      onClick={(event) => {
        // The URL fragment is the session route.
        event.preventDefault();
        focusSoon("page-message");
      }}
    >
      {words.skip}
    </a>
  );
}

interface InspectorPanelProps {
  readonly session: string;
  readonly focus: ElementTarget | undefined;
  readonly at: RunPosition | undefined;
  readonly isReplay: boolean;
  readonly isSheet: boolean;
  readonly conversation: RefObject<ConversationHandle | null>;
}

function InspectorPanel({ session, focus, at, isReplay, isSheet, conversation }: InspectorPanelProps): ReactNode {
  const words = useWords(SHELL_WORDS);
  const page = usePage();
  const panel = useRef<HTMLElement>(null);
  useRestoreFocus(panel, isSheet);
  const prices = usePageState(selectPrices);
  const mayWrite = useMay("write");
  const mayRun = useMay("run");
  const isShared = usePageState(selectIsShared);
  const focusedTurn = focus?.turn ?? at?.runId;
  // A string, so that new tokens do not rerender this component.
  const found = useSession(
    page.receiver,
    session,
    useMemo(() => {
      const find = focusedTurn === undefined ? selectLatest : createTurnSelector(focusedTurn);
      return (view: SessionView | undefined) => {
        const turn = find(view);
        return turn === undefined ? undefined : JSON.stringify([turn.key, turn.runId]);
      };
    }, [focusedTurn]),
  );
  // The run of a link may not be loaded in the conversation. The inspector reads it itself.
  if (found === undefined && at === undefined) return null;
  const [turnKey, runId] =
    found === undefined ? [at?.runId ?? "", at?.runId ?? null] : (JSON.parse(found) as [string, string | null]);
  const close = (): void => page.dispatch({ type: "inspector/closed" });
  return (
    <aside ref={panel} className="page-inspector-panel" data-sheet={isSheet} aria-label={words.inspector} tabIndex={-1}>
      <PageBoundary onClose={close}>
        <Suspense fallback={<Spinner />}>
          <Inspector
            key={`${turnKey} ${isReplay}`}
            isReplay={isReplay}
            api={page.api}
            receiver={page.receiver}
            session={session}
            runId={runId ?? undefined}
            turnKey={turnKey}
            focus={focus}
            eventId={at?.eventId}
            formatLink={(eventId) => {
              const route = isShared ? formatSharedRoute(session) : formatRoute(session);
              return new URL(addPosition(route, { runId: runId ?? "", eventId }), location.href).href;
            }}
            onFork={mayWrite && mayRun ? (checkpoint, state) => page.forkAt(session, checkpoint, state) : undefined}
            onShowElement={(place) => {
              // On small screens the inspector covers the conversation.
              if (isSheet) close();
              requestAnimationFrame(() => conversation.current?.show(place));
            }}
            prices={prices}
            onPrices={(changed) => page.dispatch({ type: "settings/changed", settings: { prices: changed } })}
            onClose={close}
          />
        </Suspense>
      </PageBoundary>
    </aside>
  );
}

const DIALOGS = {
  activity: ActivityDialog,
  knowledge: KnowledgeDialog,
  shortcuts: ShortcutsDialog,
  settings: SettingsDialog,
  palette: CommandPalette,
} as const;

function Dialogs(): ReactNode {
  const page = usePage();
  const dialog = usePageState(({ dialog }) => dialog);
  const sessionDialog = usePageState(({ sessionDialog }) => sessionDialog);
  const close = (): void => {
    if (sessionDialog === undefined) page.dispatch({ type: "dialog/opened", dialog: undefined });
    else page.dispatch({ type: "session-dialog/opened", dialog: undefined });
  };
  const Content = dialog === undefined ? undefined : DIALOGS[dialog];
  const SessionContent = sessionDialog?.name === "share" ? ShareDialog : ExportDialog;
  const content =
    sessionDialog !== undefined ? (
      <SessionContent session={sessionDialog.session} onClose={close} />
    ) : Content === undefined ? null : (
      <Content onClose={close} />
    );
  if (content === null) return null;
  return (
    <PageBoundary key={sessionDialog?.name ?? dialog} onClose={close}>
      <Suspense fallback={null}>{content}</Suspense>
    </PageBoundary>
  );
}

/** A document, above the dialog that it was opened from. */
function OpenedSource(): ReactNode {
  const page = usePage();
  const source = usePageState(({ source }) => source);
  const close = (): void => page.dispatch({ type: "source/opened", source: undefined });
  if (source === undefined) return null;
  return (
    <PageBoundary onClose={close}>
      <Suspense fallback={null}>
        <DocumentDialog source={source} onClose={close} />
      </Suspense>
    </PageBoundary>
  );
}

/** Moves focus into the list when it opens, and back when it closes. */
function useDrawerFocus(isOpen: boolean): void {
  useEffect(() => {
    if (!isOpen) return undefined;
    const before = document.activeElement;
    const frame = requestAnimationFrame(() =>
      document.querySelector<HTMLElement>("#page-sidebar button, #page-sidebar a")?.focus(),
    );
    return () => {
      cancelAnimationFrame(frame);
      requestAnimationFrame(() => {
        const active = document.activeElement ?? document.body;
        // Leave focus alone if the user has moved it.
        const isMoved = active !== document.body && active.closest("#page-sidebar") === null;
        if (!isMoved && before instanceof HTMLElement && before.isConnected) before.focus();
      });
    };
  }, [isOpen]);
}

/**
 * Moves focus into a panel that covers the page, and restores it when the panel closes. Active while the component is
 * mounted. `isCovering`: the panel covers the page.
 */
function useRestoreFocus(panel: RefObject<HTMLElement | null>, isCovering: boolean): void {
  const before = useRef<Element>(null);
  useEffect(() => {
    before.current = document.activeElement;
    return () => {
      const target = before.current;
      // Leave focus alone if the user has moved it.
      const isNowhere = document.activeElement === null || document.activeElement === document.body;
      if (isNowhere && target instanceof HTMLElement && target.isConnected) target.focus({ preventScroll: true });
    };
  }, []);
  useEffect(() => {
    if (isCovering) panel.current?.focus({ preventScroll: true });
  }, [isCovering, panel]);
}
