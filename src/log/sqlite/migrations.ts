/** Migrations of stores from older versions. A migration is never edited: later code must not change what it does. */
import type { DatabaseSync } from "node:sqlite";
import { type Sealed, sealOf } from "../../sqlite/seal.ts";

/** Version 15 to 16. */
export const ADD_CARRIED_CONTENT = `
CREATE INDEX runs_by_end ON runs (ended_at) WHERE last_id IS NOT NULL;
CREATE TABLE carried (
  pk INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  event_id INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  text TEXT NOT NULL,
  UNIQUE (session, event_id)
) STRICT;
CREATE TABLE pruning (holder TEXT NOT NULL, expires_at REAL NOT NULL) STRICT;
INSERT INTO pruning VALUES ('', 0);
`;

const CREATE = `
CREATE TABLE sessions_17 (
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT UNIQUE,
  incarnation TEXT NOT NULL,
  owner TEXT NOT NULL,
  title TEXT,
  created_at REAL NOT NULL,
  updated_at REAL NOT NULL,
  first_id INTEGER NOT NULL,
  base_pos INTEGER NOT NULL,
  unswept INTEGER NOT NULL DEFAULT 0,
  epoch INTEGER NOT NULL,
  holder TEXT,
  expires_at REAL NOT NULL,
  is_pinned INTEGER NOT NULL,
  is_archived INTEGER NOT NULL,
  root_id TEXT,
  origin_id TEXT,
  origin_run_id TEXT,
  origin_event_id INTEGER,
  seal INTEGER NOT NULL,
  CHECK (session_id IS NULL OR root_id IS NOT NULL)
) STRICT;
-- Keys are not used again.
INSERT INTO sqlite_sequence (name, seq) SELECT 'sessions_17', seq FROM sqlite_sequence WHERE name = 'sessions';
`;

const READ = `SELECT s.*, l.session AS lineage, l.owner AS lineage_owner, l.root_id, l.parent_id, l.run_id, l.event_id,
    l.seal AS lineage_seal
  FROM sessions s LEFT JOIN lineages l ON l.session = s.key WHERE s.key > ? ORDER BY s.key LIMIT 1000`;

const INSERT = `INSERT INTO sessions_17 (key, incarnation, created_at, owner, session_id, title, updated_at, first_id,
    base_pos, epoch, holder, expires_at, is_pinned, is_archived, root_id, origin_id, origin_run_id, origin_event_id,
    unswept, seal) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

const FINISH = `
DROP TABLE lineages;
DROP TABLE sessions;
ALTER TABLE sessions_17 RENAME TO sessions;
CREATE INDEX sessions_by_owner ON sessions (owner) WHERE session_id IS NOT NULL;
CREATE INDEX sessions_by_root ON sessions (root_id, owner) WHERE session_id IS NOT NULL;
CREATE INDEX sessions_marked ON sessions (owner)
  WHERE session_id IS NOT NULL AND (is_pinned = 1 OR is_archived = 1);
CREATE INDEX sessions_drafts ON sessions (key) WHERE session_id IS NULL AND unswept = 0;
CREATE INDEX sessions_unswept ON sessions (key) WHERE unswept = 1;
`;

type Row = Readonly<Record<string, string | number | null>> & { readonly key: number; readonly seal: number };

/**
 * Version 16 to 17: moves lineages to the rows of their sessions. Seals cover all columns then. A process of an older
 * version that still has the store open cannot write sessions any more: their seals are wrong for it, and new ones have no
 * root.
 */
export function moveLineages(db: DatabaseSync): void {
  db.exec(CREATE);
  const [read, insert] = [db.prepare(READ), db.prepare(INSERT)];
  for (let after: number | undefined = 0; after !== undefined;) {
    const rows: readonly Row[] = read.all(after) as unknown as Row[];
    for (const row of rows) {
      const { root_id = null, parent_id = null, run_id = null, event_id = null, session_id = null } = row;
      const values = [
        ...pick(row, "key", "incarnation", "created_at", "owner"),
        ...pickChangeable(row),
        ...pick(row, "is_pinned", "is_archived"),
        root_id ?? session_id,
        parent_id,
        run_id,
        event_id,
      ];
      // A damaged row keeps its seal, which does not match the new columns either.
      insert.run(...values, row["unswept"] ?? 0, isIntact(row) ? sealOf(values) : row.seal);
    }
    after = rows.at(-1)?.key;
  }
  db.exec(FINISH);
}

const pick = (row: Row, ...names: string[]): Sealed => names.map((name) => row[name] ?? null);

const pickChangeable = (row: Row): Sealed =>
  pick(row, "session_id", "title", "updated_at", "first_id", "base_pos", "epoch", "holder", "expires_at");

/** In version 16, the owner `local` and missing marks were not part of the seal. */
function isIntact(row: Row): boolean {
  const owner = row["owner"] === "local" ? [] : pick(row, "owner");
  const marks = row["is_pinned"] === 0 && row["is_archived"] === 0 ? [] : pick(row, "is_pinned", "is_archived");
  const values = [...pick(row, "key", "incarnation", "created_at"), ...pickChangeable(row), ...owner, ...marks];
  if (row.seal !== sealOf(values)) return false;
  if (row["lineage"] === null) return true;
  const lineage = pick(row, "lineage", "lineage_owner", "root_id", "parent_id", "run_id", "event_id");
  return row["lineage_seal"] === sealOf(lineage) && row["lineage_owner"] === row["owner"];
}

const ADD_ACTORS = `
ALTER TABLE runs ADD COLUMN actor TEXT;
ALTER TABLE commands ADD COLUMN actor TEXT;
UPDATE commands SET actor = body ->> '$.actor'
  WHERE outcome IS NULL AND kind = 'enqueue' AND CASE WHEN json_valid(body) THEN json_type(body, '$.actor') = 'text' END;
CREATE INDEX runs_of_actor ON runs (actor) WHERE last_id IS NULL AND actor IS NOT NULL;
CREATE INDEX commands_of_actor ON commands (actor) WHERE outcome IS NULL AND actor IS NOT NULL;
`;

/** The row with a record of a session: in `chunks`, otherwise in `recent`. */
const FIND_ROWS = [
  "SELECT last_id, text FROM chunks WHERE session = ? AND last_id >= ? ORDER BY last_id LIMIT 1",
  "SELECT id AS last_id, text FROM recent WHERE session = ? AND id >= ? ORDER BY id LIMIT 1",
];

/** Version 17 to 18: adds the principals of live runs and pending messages. */
export function addActors(db: DatabaseSync): void {
  db.exec(ADD_ACTORS);
  const live = db.prepare("SELECT session, run_id, first_id FROM runs WHERE last_id IS NULL");
  const find = FIND_ROWS.map((sql) => db.prepare(sql));
  const save = db.prepare("UPDATE runs SET actor = ? WHERE session = ? AND run_id = ?");
  for (const { session = null, run_id = null, first_id = null } of live.all()) {
    const row = find.map((statement) => statement.get(session, first_id)).find((found) => found !== undefined);
    const start = String(row?.["text"])
      .split("\n")
      .at(Number(first_id) - Number(row?.["last_id"]) - 1);
    save.run(readActor(start), session, run_id);
  }
}

/** Returns null unless the record starts a run of a principal that Loom executes. */
function readActor(text = ""): string | null {
  try {
    const { type, actor, ext } = JSON.parse(text) as { type?: unknown; actor?: unknown; ext?: { ingest?: unknown } };
    return type === "run_start" && typeof actor === "string" && ext?.ingest === undefined ? actor.toWellFormed() : null;
  } catch {
    return null;
  }
}
