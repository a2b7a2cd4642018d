/** Sessions by day, or the search results. */
import { memo, type ReactNode, useState } from "react";
import { Button, Dialog, type UiLanguage, Spinner, useUi, useWords } from "loom-agent/react";
import { usePage, usePageState } from "../shell/page-context.tsx";
import { focusConversation } from "../shell/use-shortcuts.ts";
import type { PageState } from "../store/page-state.ts";
import type { SessionPage, SessionListRow, SessionsState } from "../store/sessions.ts";
import { type DayGroup, groupByDay } from "./group-by-day.ts";
import { SessionItem } from "./session-item.tsx";
import { SIDEBAR_WORDS } from "./sidebar-words.ts";

const selectSessions = ({ sessions }: PageState): SessionsState => sessions;

export const SessionList = memo(function SessionList(): ReactNode {
  const words = useWords(SIDEBAR_WORDS);
  const page = usePage();
  const { language } = useUi();
  const sessions = usePageState(selectSessions);
  const [removing, setRemoving] = useState<SessionListRow>();
  const { current, list, found, query, live, renaming } = sessions;
  const isSearch = query.trim() !== "";
  const shown = isSearch ? found : list;
  const show = (row: SessionListRow): ReactNode => (
    <SessionItem
      key={row.session_id}
      row={row}
      isCurrent={row.session_id === current}
      isLive={live.includes(row.session_id)}
      isRenaming={row.session_id === renaming}
      query={isSearch ? query : ""}
      onRemove={setRemoving}
    />
  );
  return (
    <div className="page-sessions">
      <p className="loom-said" role="status">
        {isSearch && found.status === "ready" ? words.found(found.rows.length) : ""}
      </p>
      {isSearch ? (
        <ul>{found.rows.map(show)}</ul>
      ) : (
        groupByDay(list.rows, Date.now()).map((group) => (
          <section key={formatDay(group, "en", "")}>
            <h2>{formatDay(group, language, typeof group.day === "string" ? words[group.day] : "")}</h2>
            <ul>{group.rows.map(show)}</ul>
          </section>
        ))
      )}
      <ListEnd shown={shown} isSearch={isSearch} />
      {removing === undefined ? null : (
        <RemoveDialog
          row={removing}
          onClose={() => setRemoving(undefined)}
          onRemove={(id) => void page.remove(id).then(restoreFocus)}
        />
      )}
    </div>
  );
});

/** The focused row was removed. */
function restoreFocus(): void {
  requestAnimationFrame(() => {
    if (document.activeElement === document.body) focusConversation();
  });
}

/** End of the list: load more, empty or failed. */
function ListEnd({ shown, isSearch }: { readonly shown: SessionPage; readonly isSearch: boolean }): ReactNode {
  const words = useWords(SIDEBAR_WORDS);
  const page = usePage();
  if (shown.status === "loading" && shown.rows.length === 0)
    return (
      <p className="page-sessions-note">
        <Spinner />
      </p>
    );
  if (shown.status === "failed")
    return (
      <div className="page-sessions-note">
        <p>{words.failed}</p>
        <Button
          icon="retry"
          onClick={() => (isSearch ? page.search(page.store.getSnapshot().sessions.query) : page.refresh())}
        >
          {words.again}
        </Button>
      </div>
    );
  if (shown.rows.length === 0) return <p className="page-sessions-note">{isSearch ? words.notFound : words.none}</p>;
  if (shown.next === undefined) return null;
  return (
    <div className="page-sessions-note">
      <Button onClick={() => void (isSearch ? page.searchMore() : page.loadMore())}>{words.more}</Button>
    </div>
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
  return (
    <Dialog title={words.removeTitle} onClose={onClose}>
      <p className="page-remove-text">{words.removeText(row.title ?? words.untitled)}</p>
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
