/** Sessions: pinned, by day and archived; or the search results. */
import { memo, type ReactNode, useEffect, useRef, useState } from "react";
import { Button, Dialog, Icon, Spinner, type UiLanguage, useUi, useWords } from "../../../src/react/page-parts.ts";
import { usePage, usePageState } from "../shell/page-context.tsx";
import { focusConversation } from "../shell/use-shortcuts.ts";
import { findActiveSessions } from "../store/activity.ts";
import type { SessionListRow, SessionPage } from "../store/session-rows.ts";
import { findRow, findTarget } from "../store/sessions.ts";
import { type DayGroup, groupByDay } from "./group-by-day.ts";
import { SessionItem, type SessionMark } from "./session-item.tsx";
import { SIDEBAR_WORDS } from "./sidebar-words.ts";

export const SessionList = memo(function SessionList(): ReactNode {
  const words = useWords(SIDEBAR_WORDS);
  const page = usePage();
  const { language } = useUi();
  const sessions = usePageState(({ sessions }) => sessions);
  const activity = usePageState(({ activity }) => activity);
  const [removing, setRemoving] = useState<SessionListRow>();
  const { current, list, pinned, archived, found, query, live, failed, renaming, roots } = sessions;
  const currentRoot = findRow(sessions, current)?.root_id;
  const active = findActiveSessions(activity);
  const findRoot = (session: string): string => roots.get(session) ?? session;
  const liveRoots = new Set([...live, ...active.keys()].map(findRoot));
  const waitingRoots = new Set(
    [...active].flatMap(([session, what]) => (what === "waiting" ? [findRoot(session)] : [])),
  );
  const findMark = ({ root_id: root, session_id: session }: SessionListRow): SessionMark | undefined => {
    if (waitingRoots.has(root)) return "awaiting";
    if (liveRoots.has(root)) return "live";
    return failed.includes(session) ? "failed" : undefined;
  };
  const isSearch = query.trim() !== "";
  const shown = isSearch ? found : list;
  const show = (row: SessionListRow): ReactNode => (
    <SessionItem
      key={row.root_id}
      row={row}
      target={findTarget(sessions, row)}
      isCurrent={row.root_id === currentRoot}
      mark={findMark(row)}
      isRenaming={row.session_id === renaming}
      query={isSearch ? query : ""}
      onRemove={setRemoving}
      onMove={(move) => {
        // The row moves at once, and back if the request fails.
        void move().then(() => restoreFocus(row));
        restoreFocus(row);
      }}
    />
  );
  return (
    <div className="page-sessions">
      <p className="loom-said" role="status">
        {isSearch && found.status === "ready" ? words.found(found.rows.length, found.next !== undefined) : ""}
      </p>
      {isSearch ? (
        <ul>{found.rows.map(show)}</ul>
      ) : (
        <>
          {pinned.rows.length === 0 ? null : (
            <section>
              <h2>{words.pinned}</h2>
              <ul>{pinned.rows.map(show)}</ul>
            </section>
          )}
          {groupByDay(
            list.rows.filter(({ is_pinned }) => is_pinned !== true),
            Date.now(),
          ).map((group) => (
            <section key={formatDay(group, "en", "")}>
              <h2>{formatDay(group, language, typeof group.day === "string" ? words[group.day] : "")}</h2>
              <ul>{group.rows.map(show)}</ul>
            </section>
          ))}
        </>
      )}
      <ListEnd
        // The archived sessions are below it.
        shown={isSearch || !sessions.isArchiveOpen ? shown : { ...list, next: undefined }}
        empty={isSearch ? words.notFound : words.none}
        onRetry={() => (isSearch ? page.search(query) : page.refresh())}
        onMore={() => void (isSearch ? page.searchMore() : page.loadMore())}
      />
      {isSearch || list.status !== "ready" || archived.rows.length === 0 ? null : (
        <Archive isOpen={sessions.isArchiveOpen} shown={archived}>
          {archived.rows.map(show)}
        </Archive>
      )}
      {removing === undefined ? null : (
        <RemoveDialog
          row={removing}
          onClose={() => setRemoving(undefined)}
          onRemove={(id) => void page.remove(id).then(() => restoreFocus(removing))}
        />
      )}
    </div>
  );
});

/** The focused row was moved or removed. */
function restoreFocus({ root_id: root }: SessionListRow): void {
  requestAnimationFrame(() => {
    if (document.activeElement !== document.body) return;
    const row = document.querySelector<HTMLElement>(`[data-root="${CSS.escape(root)}"] > a`);
    if (row === null) focusConversation();
    else row.focus();
  });
}

interface ArchiveProps {
  readonly isOpen: boolean;
  readonly shown: SessionPage;
  readonly children: ReactNode;
}

/** The archived sessions, loaded when they are shown. */
function Archive({ isOpen, shown, children }: ArchiveProps): ReactNode {
  const words = useWords(SIDEBAR_WORDS);
  const page = usePage();
  return (
    <section className="page-archive">
      <h2>
        <button
          type="button"
          className="loom-menu-button"
          aria-expanded={isOpen}
          onClick={() => page.toggleArchive(!isOpen)}
        >
          <Icon name={isOpen ? "down" : "open"} />
          {words.archived}
        </button>
      </h2>
      {isOpen ? (
        <>
          <ul>{children}</ul>
          <ListEnd
            shown={shown}
            empty=""
            onRetry={() => page.toggleArchive(true)}
            onMore={() => void page.archiveMore()}
          />
        </>
      ) : null}
    </section>
  );
}

interface ListEndProps {
  readonly shown: SessionPage;
  /** Shown if there are no rows. */
  readonly empty: string;
  readonly onRetry: () => void;
  readonly onMore: () => void;
}

/** End of the list: more rows, empty or failed. */
function ListEnd({ shown, empty, onRetry, onMore }: ListEndProps): ReactNode {
  const words = useWords(SIDEBAR_WORDS);
  if (shown.status === "loading" && shown.rows.length === 0)
    return (
      <p className="page-sessions-note">
        <Spinner />
      </p>
    );
  if (shown.status === "failed")
    return (
      <div className="page-sessions-note">
        <p>{words.notLoaded}</p>
        <Button icon="retry" onClick={onRetry}>
          {words.again}
        </Button>
      </div>
    );
  if (shown.rows.length === 0) return <p className="page-sessions-note">{empty}</p>;
  if (shown.next === undefined) return null;
  return <MoreRows key={shown.next} onMore={onMore} />;
}

/** Loads the next rows before the end of the list is in view. Mounted again with each page, so that it looks again. */
function MoreRows({ onMore }: Pick<ListEndProps, "onMore">): ReactNode {
  const element = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    const end = element.current;
    if (end === null) return undefined;
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting === true && onMore(), {
      root: end.closest(".page-sidebar-list"),
      rootMargin: "0px 0px 600px",
    });
    observer.observe(end);
    return () => observer.disconnect();
  }, []);
  return (
    <p ref={element} className="page-sessions-note">
      <Spinner />
    </p>
  );
}

function RemoveDialog({
  row,
  onClose,
  onRemove,
}: {
  readonly row: SessionListRow;
  readonly onClose: () => void;
  readonly onRemove: (session: string) => void;
}): ReactNode {
  const words = useWords(SIDEBAR_WORDS);
  const { title = words.untitled } = row;
  // The row is that of the newest version.
  const hasVersions = row.root_id !== row.session_id;
  return (
    <Dialog title={words.removeTitle} onClose={onClose}>
      <p className="page-remove-text">{hasVersions ? words.removeAllText(title) : words.removeText(title)}</p>
      <div className="page-dialog-buttons">
        <Button onClick={onClose}>{words.cancel}</Button>
        <Button
          variant="danger"
          icon="remove"
          onClick={() => {
            onClose();
            onRemove(row.session_id);
          }}
        >
          {words.remove}
        </Button>
      </div>
    </Dialog>
  );
}

function formatDay({ day }: DayGroup, language: UiLanguage, name: string): string {
  if (typeof day === "string") return name === "" ? day : name;
  return formatMonth(day, language);
}

function formatMonth(day: Date, language: UiLanguage): string {
  return new Intl.DateTimeFormat(language === "zh" ? "zh-CN" : "en", { year: "numeric", month: "long" }).format(day);
}
