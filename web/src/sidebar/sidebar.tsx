/** Sidebar: new session, search, session list, account and settings. */
import type { KeyboardEvent, ReactNode } from "react";
import { Button, Icon, IconButton, useWords } from "../../../src/react/page-parts.ts";
import { Brand } from "../shell/brand.tsx";
import { useMay, usePage, usePageState } from "../shell/page-context.tsx";
import { LanguageMenu, ThemeMenu } from "../shell/theme-menu.tsx";
import { focusConversation } from "../shell/use-shortcuts.ts";
import { countWaiting } from "../store/activity.ts";
import type { PageState } from "../store/page-state.ts";
import { SessionList } from "./session-list.tsx";
import { SIDEBAR_WORDS } from "./sidebar-words.ts";
import { ACCESS_WORDS } from "../access/access-words.ts";

export function Sidebar(): ReactNode {
  const words = useWords(SIDEBAR_WORDS);
  const page = usePage();
  const [mayRun, mayRead] = [useMay("run"), useMay("read")];
  return (
    <>
      <div className="page-sidebar-head">
        <Brand />
        {mayRun ? (
          <Button
            icon="add"
            variant="primary"
            onClick={() => {
              page.open(undefined);
              page.dispatch({ type: "drawer/toggled", isOpen: false });
              focusConversation();
            }}
          >
            {words.create}
          </Button>
        ) : null}
        <SearchField />
        {mayRead ? <ActivityButton /> : null}
      </div>
      <nav className="page-sidebar-list" aria-label={words.sessions}>
        <SessionList />
      </nav>
      <Account />
      <div className="page-sidebar-foot">
        {mayRead ? (
          <button
            type="button"
            className="loom-menu-button"
            onClick={() => page.dispatch({ type: "dialog/opened", dialog: "knowledge" })}
          >
            <Icon name="book" />
            {words.knowledge}
          </button>
        ) : null}
        <span className="page-sidebar-settings">
          <LanguageMenu side="above" />
          <ThemeMenu side="above" />
        </span>
        <IconButton
          icon="settings"
          label={words.settings}
          onClick={() => page.dispatch({ type: "dialog/opened", dialog: "settings" })}
        />
        <IconButton
          icon="keyboard"
          label={words.shortcuts}
          onClick={() => page.dispatch({ type: "dialog/opened", dialog: "shortcuts" })}
        />
      </div>
    </>
  );
}

/** Opens the list of runs; shows how many approvals wait. */
function ActivityButton(): ReactNode {
  const words = useWords(SIDEBAR_WORDS);
  const page = usePage();
  const waiting = usePageState(({ activity }) => countWaiting(activity));
  return (
    <button
      type="button"
      className="loom-menu-button page-activity-button"
      onClick={() => page.dispatch({ type: "dialog/opened", dialog: "activity" })}
    >
      <Icon name="activity" />
      <span>{words.activity}</span>
      {waiting === 0 ? null : (
        <span className="page-count">
          <span aria-hidden="true">{waiting > MAX_COUNT ? `${MAX_COUNT}+` : waiting}</span>
          <span className="loom-said">{words.waiting(waiting)}</span>
        </span>
      )}
    </button>
  );
}

const MAX_COUNT = 99;

function SearchField(): ReactNode {
  const words = useWords(SIDEBAR_WORDS);
  const page = usePage();
  const query = usePageState(({ sessions }) => sessions.query);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Escape" || query === "") return;
    event.stopPropagation();
    page.search("");
  };
  return (
    <div className="page-search" role="search">
      <Icon name="search" />
      <input
        id="page-search"
        type="search"
        className="page-field"
        dir="auto"
        value={query}
        placeholder={words.search}
        aria-label={words.search}
        maxLength={200}
        onChange={(event) => page.search(event.target.value)}
        onKeyDown={onKeyDown}
      />
      {query === "" ? null : <IconButton icon="close" label={words.clear} onClick={() => page.search("")} />}
    </div>
  );
}

const selectName = ({ access }: PageState): string | undefined =>
  access.phase === "signed-in" ? (access.name ?? access.owner ?? "") : undefined;

/** Name of the signed-in user, with a sign-out button. Renders nothing if authentication is off. */
function Account(): ReactNode {
  const words = useWords(ACCESS_WORDS);
  const page = usePage();
  const name = usePageState(selectName);
  if (name === undefined) return null;
  return (
    <div className="page-account">
      <Icon name="user" />
      <span className="loom-said">{words.signedIn} </span>
      {/* A right-to-left name must not reorder the text around it. */}
      <bdi className="page-account-name" title={name}>
        {name}
      </bdi>
      <IconButton icon="leave" label={words.signOut} onClick={() => void page.signOut()} />
    </div>
  );
}
