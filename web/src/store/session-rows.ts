/** Rows of a session list. A conversation has one row: that of its newest version. */
import type { SessionDetails, SessionList } from "../../../src/server/api/shapes.generated.ts";

export type SessionListRow = SessionList["sessions"][number];
export type LoadStatus = "idle" | "loading" | "ready" | "failed";

export interface SessionPage {
  readonly rows: readonly SessionListRow[];
  /** `after` parameter of the next page. */
  readonly next: string | undefined;
  readonly status: LoadStatus;
}

/** Rows kept. Older sessions are found by search. */
export const MAX_ROWS = 1000;

export const NO_ROWS: SessionPage = { rows: [], next: undefined, status: "idle" };

/**
 * Merges a page of the list. A reloaded first page keeps the rows below it, so the scroll position stays. Rows that the
 * page covers but does not list are removed.
 */
export function mergePage(before: SessionPage, { sessions, next }: SessionList, isMore: boolean): SessionPage {
  const listed = dropRepeated(sessions);
  const roots = new Set(listed.map(({ root_id }) => root_id));
  const last = listed.at(-1);
  if (isMore) {
    const known = new Set(before.rows.map(({ root_id }) => root_id));
    const added = listed.filter(({ root_id }) => !known.has(root_id));
    return limitRows({ rows: [...before.rows, ...added], next, status: "ready" });
  }
  const others = before.rows.filter(({ root_id }) => !roots.has(root_id));
  const below = last === undefined || next === undefined ? [] : others.filter((row) => isBelow(row, last));
  const isFurther = below.length > 0;
  return limitRows({ rows: [...listed, ...below], next: isFurther ? before.next : next, status: "ready" });
}

/** A search may find several versions of a conversation. The first one is the newest. */
function dropRepeated(rows: readonly SessionListRow[]): readonly SessionListRow[] {
  const seen = new Set<string>();
  return rows.filter(({ root_id }) => !seen.has(root_id) && seen.add(root_id));
}

function isBelow(row: SessionListRow, last: SessionListRow): boolean {
  return row.updated_at < last.updated_at;
}

function limitRows(page: SessionPage): SessionPage {
  return page.rows.length <= MAX_ROWS ? page : { ...page, rows: page.rows.slice(0, MAX_ROWS), next: undefined };
}

/** Keeps the fields of a row. */
export function toRow(session: SessionListRow | SessionDetails): SessionListRow {
  const { session_id, title, created_at, updated_at, first_event_id, last_event_id, bytes, cursor } = session;
  const { forked_from, root_id, is_pinned, is_archived } = session;
  return {
    session_id,
    ...(title === undefined ? {} : { title }),
    ...(is_pinned === true ? { is_pinned } : {}),
    ...(is_archived === true ? { is_archived } : {}),
    created_at,
    updated_at,
    first_event_id,
    last_event_id,
    bytes,
    cursor,
    ...(forked_from === undefined ? {} : { forked_from }),
    root_id,
  };
}

/** Inserts the row of a conversation, ordered by last change. */
export function insertRow(page: SessionPage, given: SessionListRow): SessionPage {
  const before = page.rows.find(({ root_id }) => root_id === given.root_id);
  const row = before === undefined ? given : joinVersions(before, given);
  const others = page.rows.filter((other) => other !== before);
  const at = others.findIndex(({ updated_at }) => updated_at <= row.updated_at);
  const rows = at === -1 ? [...others, row] : others.toSpliced(at, 0, row);
  // Older than all listed rows: it belongs to a page that is not loaded.
  if (at === -1 && page.next !== undefined && before === undefined) return page;
  return limitRows({ ...page, rows });
}

/** The row shows the newest version, and what all versions have in common. */
function joinVersions(before: SessionListRow, given: SessionListRow): SessionListRow {
  if (given.session_id === before.session_id) return given;
  const updated_at = Math.max(before.updated_at, given.updated_at);
  const isNewer = given.created_at >= before.created_at;
  // A new version has no title until its first message is stored.
  const title = given.title ?? before.title;
  const named = title === undefined ? {} : { title };
  return isNewer ? { ...given, ...named, updated_at } : { ...withMarks(before, given), ...named, updated_at };
}

/** Changes the rows of a conversation in search results, which may be of another version. */
export function changeRow(page: SessionPage, given: SessionListRow): SessionPage {
  if (!page.rows.some(({ root_id }) => root_id === given.root_id)) return page;
  const { title } = given;
  const change = (row: SessionListRow): SessionListRow => {
    if (row.session_id === given.session_id) return { ...withMarks(row, given), ...given };
    return { ...withMarks(row, given), ...(title === undefined ? {} : { title }) };
  };
  return { ...page, rows: page.rows.map((row) => (row.root_id === given.root_id ? change(row) : row)) };
}

function withMarks(
  { is_pinned: _isPinned, is_archived: _isArchived, ...row }: SessionListRow,
  { is_pinned, is_archived }: SessionListRow,
): SessionListRow {
  return { ...row, ...(is_pinned === true ? { is_pinned } : {}), ...(is_archived === true ? { is_archived } : {}) };
}

/** Removes the row of a conversation. */
export function dropRow(page: SessionPage, root: string): SessionPage {
  const rows = page.rows.filter(({ root_id }) => root_id !== root);
  return rows.length === page.rows.length ? page : { ...page, rows };
}
