/** The tables of a log in PostgreSQL. `@.` is the schema. */
import type { PostgresFormat } from "../../postgres/migrate.ts";

/** Also part of version 3 to 4: never edited. */
const COUNT_RUNS = `
-- Counts the live runs and pending messages of a principal in all sessions but one. Its row is locked until the end of
-- the transaction, so that others count afterwards. Sessions are locked and created before it, never after it.
CREATE TABLE @.actors (actor text COLLATE "C" PRIMARY KEY);
CREATE FUNCTION @.count_runs(of_actor text, except_in bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO @.actors AS a VALUES (of_actor) ON CONFLICT (actor) DO UPDATE SET actor = excluded.actor;
  -- One expression sees one state: a message that becomes a run meanwhile counts once.
  RETURN (SELECT count(*) FROM @.runs r JOIN @.sessions s ON s.key = r.session
      WHERE r.actor = of_actor AND r.last_id IS NULL AND s.session_id IS NOT NULL AND s.key <> except_in) +
    (SELECT count(*) FROM @.commands c JOIN @.sessions s ON s.key = c.session
      WHERE c.actor = of_actor AND c.outcome IS NULL AND s.session_id IS NOT NULL);
END $$;
`;

/** Processes and the connections with which they listen, see process-watch.ts. Also version 4 to 5: never edited. */
const PROCESSES = `
CREATE TABLE @.processes (
  name text NOT NULL,
  pid integer NOT NULL,
  started_at timestamptz NOT NULL,
  server_started_at timestamptz NOT NULL,
  PRIMARY KEY (name, pid)
);
`;

/**
 * - A row of `records` has the records of one append, one per line, up to and including `last_id`. `pos` is the size of
 *   the session in bytes up to there. An append moves `last_id` and `pos` of its session in the same statement, which is
 *   also the check of its epoch: of two writers, one waits for the other and then finds another epoch.
 * - A session without an ID is a draft: it is being copied, and no reader finds it.
 * - `actor` is the principal of a run or a message, for its limit of runs.
 * - `changes` counts the changes that watchers of a session are interested in.
 * - `lease` identifies one call of `acquire`, which may have to be repeated after a lost answer.
 * - Times are milliseconds since 1970, by the clock of the database.
 * - Strings of users may contain NUL, which PostgreSQL cannot store: see `src/postgres/text-column.ts`.
 */
const SCHEMA = `
-- Epochs are unique in the database, so that no lease is valid in a session that was created again.
CREATE SEQUENCE @.epochs;

CREATE TABLE @.sessions (
  key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  last_id bigint NOT NULL,
  pos bigint NOT NULL DEFAULT 0,
  changes bigint NOT NULL DEFAULT 0,
  epoch bigint NOT NULL,
  expires_at double precision NOT NULL DEFAULT 0,
  first_id bigint NOT NULL,
  base_pos bigint NOT NULL DEFAULT 0,
  created_at double precision NOT NULL,
  updated_at double precision NOT NULL,
  blobs bigint NOT NULL DEFAULT 0,
  blob_bytes bigint NOT NULL DEFAULT 0,
  origin_event_id bigint,
  session_id text COLLATE "C" UNIQUE,
  incarnation text NOT NULL,
  owner text COLLATE "C" NOT NULL,
  holder text,
  lease text,
  title text,
  root_id text COLLATE "C",
  origin_id text,
  origin_run_id text,
  is_pinned boolean NOT NULL DEFAULT false,
  is_archived boolean NOT NULL DEFAULT false
) WITH (fillfactor = 50);
CREATE INDEX sessions_by_owner ON @.sessions (owner, key) WHERE session_id IS NOT NULL;
CREATE INDEX sessions_by_root ON @.sessions (root_id, owner, key) WHERE session_id IS NOT NULL;
CREATE INDEX sessions_marked ON @.sessions (owner, key) WHERE is_pinned OR is_archived;
CREATE INDEX sessions_drafts ON @.sessions (key) WHERE session_id IS NULL;

-- Compressing rows of more than 2 kB would take longer than storing them.
CREATE TABLE @.records (
  session bigint NOT NULL,
  last_id bigint NOT NULL,
  first_id bigint NOT NULL,
  pos bigint NOT NULL,
  text text NOT NULL,
  PRIMARY KEY (session, last_id)
) WITH (toast_tuple_target = 8160);

-- What prompts refer to in pruned records, see carried-content.ts.
CREATE TABLE @.carried (
  session bigint NOT NULL,
  event_id bigint NOT NULL,
  text text NOT NULL,
  PRIMARY KEY (session, event_id)
);

CREATE TABLE @.runs (
  session bigint NOT NULL,
  first_id bigint NOT NULL,
  last_id bigint,
  started_at double precision NOT NULL,
  ended_at double precision,
  run_id text COLLATE "C" NOT NULL,
  status text NOT NULL,
  code text,
  request_id text,
  agent text,
  actor text COLLATE "C",
  PRIMARY KEY (session, run_id)
);
CREATE INDEX runs_by_first ON @.runs (session, first_id);
CREATE INDEX runs_by_last ON @.runs (session, last_id) WHERE last_id IS NOT NULL;
CREATE INDEX runs_by_end ON @.runs (ended_at, session, run_id) WHERE last_id IS NOT NULL;
CREATE INDEX runs_live ON @.runs (session, first_id) WHERE last_id IS NULL;
CREATE INDEX runs_of_actor ON @.runs (actor) WHERE last_id IS NULL AND actor IS NOT NULL;

-- The hash of the key, because an index cannot have long strings.
CREATE TABLE @.landmarks (
  session bigint NOT NULL,
  event_id bigint NOT NULL,
  kind text NOT NULL,
  hash text COLLATE "C" NOT NULL,
  key text NOT NULL,
  run_id text,
  PRIMARY KEY (session, kind, hash)
);
CREATE INDEX landmarks_by_id ON @.landmarks (session, kind, event_id);

CREATE TABLE @.commands (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session bigint NOT NULL,
  created_at double precision NOT NULL,
  settled_at double precision,
  command_id text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  body text NOT NULL,
  outcome text,
  actor text COLLATE "C",
  UNIQUE (session, command_id)
);
CREATE INDEX commands_pending ON @.commands (session, seq) WHERE outcome IS NULL;
CREATE INDEX commands_of_actor ON @.commands (actor) WHERE outcome IS NULL AND actor IS NOT NULL;
CREATE INDEX commands_settled ON @.commands (settled_at) WHERE outcome IS NOT NULL;
CREATE INDEX commands_by_id ON @.commands (command_id, seq);

CREATE TABLE @.snapshots (
  seq bigint GENERATED ALWAYS AS IDENTITY,
  session bigint NOT NULL,
  event_id bigint NOT NULL,
  key text COLLATE "C" NOT NULL,
  state bytea NOT NULL,
  PRIMARY KEY (session, key, event_id)
);

-- Terms of titles (record 0), messages and replies, see search-terms.ts.
CREATE TABLE @.texts (
  session bigint NOT NULL,
  event_id bigint NOT NULL,
  terms tsvector NOT NULL,
  PRIMARY KEY (session, event_id)
);
CREATE INDEX texts_by_term ON @.texts USING gin (terms);

-- Which call may prune, in one row.
CREATE TABLE @.pruning (holder text NOT NULL, expires_at double precision NOT NULL);
INSERT INTO @.pruning VALUES ('', 0);

${COUNT_RUNS}${PROCESSES}-- Stores one append per session; see append-batch.ts. A function, because its plan is kept by the server, so that no
-- connection needs a prepared statement. The bodies are one string, because quotes in an array have to be escaped.
CREATE FUNCTION @.append_batch(ids text[], epochs bigint[], ends bigint[], counts bigint[], sizes bigint[], bodies text)
RETURNS TABLE (n bigint, session bigint, session_owner text, session_changes bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  texts text[] := string_to_array(bodies, E'\\x1e');
BEGIN
  RETURN QUERY WITH moved AS (
    UPDATE @.sessions s SET last_id = i.last + i.records, pos = s.pos + i.bytes, changes = s.changes + 1
    FROM unnest(ids, epochs, ends, counts, sizes) WITH ORDINALITY AS i(session_id, epoch, last, records, bytes, n)
    WHERE s.session_id = i.session_id AND s.epoch = i.epoch AND s.last_id = i.last AND s.holder IS NOT NULL
    RETURNING i.n, s.key, s.owner, s.changes, i.last, s.last_id, s.pos),
  stored AS (
    INSERT INTO @.records (session, first_id, last_id, pos, text)
    SELECT m.key, m.last + 1, m.last_id, m.pos, texts[m.n] FROM moved m)
  SELECT m.n, m.key, m.owner, m.changes FROM moved m;
END $$;
`;

/** Version 2 to 3. */
const ADD_CARRIED_CONTENT = `
CREATE INDEX runs_by_end ON @.runs (ended_at, session, run_id) WHERE last_id IS NOT NULL;
CREATE TABLE @.carried (
  session bigint NOT NULL,
  event_id bigint NOT NULL,
  text text NOT NULL,
  PRIMARY KEY (session, event_id)
);
CREATE TABLE @.pruning (holder text NOT NULL, expires_at double precision NOT NULL);
INSERT INTO @.pruning VALUES ('', 0);
`;

/**
 * Version 3 to 4: the principals of live runs and pending messages. JSON with an escaped character is skipped: PostgreSQL
 * rejects some of them.
 */
const ADD_ACTORS = `
ALTER TABLE @.runs ADD COLUMN actor text COLLATE "C";
ALTER TABLE @.commands ADD COLUMN actor text COLLATE "C";
UPDATE @.commands SET actor = left(replace(body::json ->> 'actor', '\\', '\\\\'), 500)
  WHERE outcome IS NULL AND kind = 'enqueue' AND position('\\u' IN body) = 0;
UPDATE @.runs r SET actor = (
    SELECT left(replace(e.actor, '\\', '\\\\'), 500) FROM json_to_record(t.start::json) AS e(type text, actor text, ext json)
    WHERE e.type = 'run_start' AND e.ext -> 'ingest' IS NULL)
  FROM (SELECT l.session, l.run_id, (
      SELECT split_part(c.text, E'\\n', (l.first_id - c.first_id + 1)::integer) FROM @.records c
      WHERE c.session = l.session AND c.last_id >= l.first_id ORDER BY c.last_id LIMIT 1) AS start
    FROM @.runs l WHERE l.last_id IS NULL) t
  WHERE r.session = t.session AND r.run_id = t.run_id AND t.start LIKE '{%' AND position('\\u' IN t.start) = 0;
CREATE INDEX runs_of_actor ON @.runs (actor) WHERE last_id IS NULL AND actor IS NOT NULL;
CREATE INDEX commands_of_actor ON @.commands (actor) WHERE outcome IS NULL AND actor IS NOT NULL;
${COUNT_RUNS}`;

export const LOG_FORMAT: PostgresFormat = {
  name: "log",
  schema: SCHEMA,
  oldest: 2,
  migrations: [ADD_CARRIED_CONTENT, ADD_ACTORS, PROCESSES],
};
