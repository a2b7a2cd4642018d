/** One session of the list, with its menu. */
import { type KeyboardEvent, memo, type ReactNode, useEffect, useRef } from "react";
import { Icon, Menu, Spinner, useWords } from "../../../src/react/page-parts.ts";
import { useMay, usePage } from "../shell/page-context.tsx";
import { useSessionItems } from "../shell/turn-menu.tsx";
import { formatRoute } from "../store/route.ts";
import type { SessionListRow } from "../store/session-rows.ts";
import { markMatch } from "./mark-match.ts";
import { SIDEBAR_WORDS } from "./sidebar-words.ts";

/** What the latest run of a session does: it is live, waits for an approval, or has failed. */
export type SessionMark = "live" | "awaiting" | "failed";

export interface SessionItemProps {
  readonly row: SessionListRow;
  /** Version that the row opens. */
  readonly target: string;
  readonly isCurrent: boolean;
  readonly mark: SessionMark | undefined;
  readonly isRenaming: boolean;
  /** Search query, or empty. */
  readonly query: string;
  readonly onRemove: (row: SessionListRow) => void;
  /** Moves the row to another part of the list. */
  readonly onMove: (move: () => Promise<void>) => void;
}

const MATCH_LABELS = { title: "inTitle", message: "inMessage", answer: "inAnswer" } as const;

export const SessionItem = memo(function SessionItem(props: SessionItemProps): ReactNode {
  const { row, target, isCurrent, mark, isRenaming, query, onRemove, onMove } = props;
  const words = useWords(SIDEBAR_WORDS);
  const page = usePage();
  const { session_id: session, title = words.untitled, match } = row;
  const mayWrite = useMay("write");
  const link = useRef<HTMLAnchorElement>(null);
  const wasRenaming = useRef(false);
  useEffect(() => {
    // The focused field was removed.
    if (wasRenaming.current && !isRenaming && document.activeElement === document.body) link.current?.focus();
    wasRenaming.current = isRenaming;
  }, [isRenaming]);
  if (isRenaming) return <RenameField session={session} title={row.title ?? ""} />;
  return (
    <li className="page-session" data-current={isCurrent} data-root={row.root_id}>
      <a
        ref={link}
        className="page-session-link"
        href={formatRoute(target)}
        aria-current={isCurrent ? "page" : undefined}
        title={title}
        onClick={(event) => {
          // With a modifier key the browser opens a tab or a download.
          if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
          event.preventDefault();
          if (match === undefined) page.open(target);
          else page.openMatch(row);
          page.dispatch({ type: "drawer/toggled", isOpen: false });
        }}
      >
        <span className="page-session-title" dir="auto">
          <Marked text={title} query={query} />
        </span>
        {match !== undefined && row.is_archived === true ? (
          <span className="page-session-snippet">{words.archived}</span>
        ) : null}
        {match === undefined || match.where === "title" ? null : (
          <span className="page-session-snippet">
            <span className="page-session-where">{words[MATCH_LABELS[match.where]]}</span>{" "}
            <bdi>
              <Marked text={match.snippet} query={query} />
            </bdi>
          </span>
        )}
      </a>
      {/* The state of the current session is shown in its conversation. */}
      {mark !== undefined && !isCurrent ? (
        <span className="page-session-mark" data-mark={mark} role="img" aria-label={words[mark]} title={words[mark]}>
          {mark === "live" ? <Spinner /> : <Icon name={mark === "awaiting" ? "ask" : "alert"} />}
        </span>
      ) : null}
      {mayWrite ? <SessionMenu row={row} title={title} onRemove={onRemove} onMove={onMove} /> : null}
    </li>
  );
});

interface SessionMenuProps extends Pick<SessionItemProps, "row" | "onRemove" | "onMove"> {
  readonly title: string;
}

function SessionMenu({ row, title, onRemove, onMove }: SessionMenuProps): ReactNode {
  const words = useWords(SIDEBAR_WORDS);
  const page = usePage();
  const { session_id: session, is_pinned: isPinned = false, is_archived: isArchived = false } = row;
  const items = useSessionItems(session);
  return (
    <Menu
      label={words.actions(title)}
      className="page-icon-only page-session-more"
      items={[
        {
          key: "rename",
          label: words.rename,
          icon: "edit",
          onSelect: () => page.dispatch({ type: "session/renaming", session }),
        },
        // An archived session is not listed with the pinned ones.
        ...(isArchived
          ? []
          : [
              {
                key: "pin",
                label: isPinned ? words.unpin : words.pin,
                icon: "pin",
                onSelect: () => onMove(() => page.pin(session, !isPinned)),
              } as const,
            ]),
        {
          key: "archive",
          label: isArchived ? words.unarchive : words.archive,
          icon: "archive",
          onSelect: () => onMove(() => page.archive(session, !isArchived)),
        },
        {
          key: "fork",
          label: words.fork,
          icon: "fork",
          onSelect: () => void page.fork(session, words.copyOf(title)),
        },
        ...items,
        { key: "remove", label: words.remove, icon: "remove", isDanger: true, onSelect: () => onRemove(row) },
      ]}
    >
      <Icon name="more" />
    </Menu>
  );
}

function Marked({ text, query }: { readonly text: string; readonly query: string }): ReactNode {
  if (query.trim() === "") return text;
  return markMatch(text, query).map((piece, index) =>
    // Pieces are rendered together, so the index is a stable key.
    piece.isMatch ? <mark key={index}>{piece.text}</mark> : piece.text,
  );
}

/** Enter and blur save the title; Escape keeps the old one. */
function RenameField({ session, title }: { readonly session: string; readonly title: string }): ReactNode {
  const words = useWords(SIDEBAR_WORDS);
  const page = usePage();
  const isOver = useRef(false);
  const finish = (value: string): void => {
    if (isOver.current) return;
    isOver.current = true;
    void page.rename(session, value);
  };
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>): void => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Enter") finish(event.currentTarget.value);
    if (event.key === "Escape") finish(title);
    if (event.key === "Escape") event.stopPropagation();
  };
  return (
    <li className="page-session page-session-renaming">
      <input
        ref={selectAll}
        className="page-field"
        dir="auto"
        defaultValue={title}
        aria-label={words.renameLabel}
        maxLength={200}
        onKeyDown={onKeyDown}
        onBlur={(event) => finish(event.currentTarget.value)}
      />
    </li>
  );
}

/** Runs after the menu has returned focus to its button. */
function selectAll(input: HTMLInputElement | null): void {
  if (input === null) return;
  input.focus();
  input.select();
}
