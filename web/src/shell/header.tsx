/** Page header: session title, status, inspector button and settings. */
import { type ReactNode, useEffect, useMemo } from "react";
import type { SessionView } from "loom-agent/client";
import { findLiveRun, IconButton, SessionStatus, useSession, useWords } from "../../../src/react/page-parts.ts";
import { countWaiting } from "../store/activity.ts";
import type { PageState } from "../store/page-state.ts";
import { findRow } from "../store/sessions.ts";
import { useMay, usePage, usePageState } from "./page-context.tsx";
import { SHELL_WORDS } from "./shell-words.ts";
import { LanguageMenu, ThemeMenu } from "./theme-menu.tsx";
import type { SessionAlert } from "../store/alerts.ts";

export interface HeaderProps {
  readonly session: string | undefined;
  readonly isListShown: boolean;
  /** Undefined: there is no session list. */
  readonly onToggleList: (() => void) | undefined;
}

const selectHasRun = (session: SessionView | undefined): boolean => (session?.turns.length ?? 0) > 0;
const selectIsLive = (session: SessionView | undefined): boolean => findLiveRun(session) !== undefined;
const selectWaiting = ({ activity }: PageState): number => countWaiting(activity);
const selectHasInspector = ({ inspector }: PageState): boolean => inspector !== undefined;

export function Header({ session, isListShown, onToggleList }: HeaderProps): ReactNode {
  const words = useWords(SHELL_WORDS);
  const page = usePage();
  const hasInspector = usePageState(selectHasInspector);
  const hasRun = useSession(page.receiver, session ?? "", selectHasRun);
  return (
    <header className="page-header">
      {onToggleList === undefined ? null : <ListButton isListShown={isListShown} onToggleList={onToggleList} />}
      <Title session={session} />
      {session === undefined ? null : (
        <div className="page-status">
          <SessionStatus receiver={page.receiver} sessionId={session} onRetry={() => page.retryStream()} />
        </div>
      )}
      {hasRun ? (
        <IconButton
          icon="inspect"
          label={hasInspector ? words.closeInspector : words.inspector}
          aria-pressed={hasInspector}
          onClick={() =>
            page.dispatch(hasInspector ? { type: "inspector/closed" } : { type: "inspector/opened", focus: undefined })
          }
        />
      ) : null}
      <span className="page-header-settings">
        <LanguageMenu />
        <ThemeMenu />
      </span>
    </header>
  );
}

/** Also sets the title of the tab. */
interface ListButtonProps {
  readonly isListShown: boolean;
  readonly onToggleList: () => void;
}

/** Shows or hides the session list. A hidden list cannot show that approvals wait, so the button does. */
function ListButton({ isListShown, onToggleList }: ListButtonProps): ReactNode {
  const words = useWords(SHELL_WORDS);
  const waiting = usePageState(selectWaiting);
  const label = isListShown ? words.hideSessions : words.showSessions;
  const hasMark = !isListShown && waiting > 0;
  return (
    <IconButton
      icon="menu"
      label={hasMark ? words.withWaiting(label, waiting) : label}
      data-alert={hasMark}
      aria-expanded={isListShown}
      aria-controls="page-sidebar"
      onClick={onToggleList}
    />
  );
}

function Title({ session }: { readonly session: string | undefined }): ReactNode {
  const words = useWords(SHELL_WORDS);
  const page = usePage();
  const select = useMemo(
    () =>
      ({ sessions }: PageState) =>
        findRow(sessions, session)?.title,
    [session],
  );
  const mayRun = useMay("run");
  const title = usePageState(select) ?? (session === undefined && !mayRun ? words.sessions : words.untitled);
  const isLive = useSession(page.receiver, session ?? "", selectIsLive);
  useTabTitle(title, isLive);
  return (
    <h1 className="page-title" dir="auto" title={title}>
      {title}
    </h1>
  );
}

/** Approvals come first, because a run waits for them. */
function selectAlert({ alerts }: PageState): SessionAlert | undefined {
  return alerts.findLast(({ kind }) => kind === "approval") ?? alerts.at(-1);
}

/** The title of the browser tab: the session, a mark during its run, and what happened in the background. */
function useTabTitle(title: string, isLive: boolean): void {
  const words = useWords(SHELL_WORDS);
  const alert = usePageState(selectAlert);
  const select = useMemo(
    () =>
      ({ sessions }: PageState) =>
        findRow(sessions, alert?.session)?.title,
    [alert],
  );
  const alerting = usePageState(select) ?? words.untitled;
  useEffect(() => {
    document.title =
      alert === undefined
        ? `${isLive ? "● " : ""}${title} – Loom`
        : `${words.alertTitle(alert.kind)}: ${alerting} – Loom`;
  }, [title, isLive, alert, alerting, words]);
}
