/** The tables and statements of credentials in PostgreSQL. `@.` is the schema. */
import type { PostgresFormat } from "../../../postgres/migrate.ts";

/**
 * - Times are milliseconds since 1970.
 * - `credential_changes` has one row, which counts the transactions that made a credential invalid: processes compare it
 *   with the number they know before they trust their caches.
 * - `holder`: ID of the principal; `principal`: the principal as JSON if no other table has it (JWT).
 */
const SCHEMA = `
CREATE TABLE @.credential_changes (version bigint NOT NULL);
INSERT INTO @.credential_changes VALUES (0);

CREATE TABLE @.tokens (
  key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  digest bytea NOT NULL,
  name text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  scopes text NOT NULL,
  agents text,
  tools text,
  limits text NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint,
  revoked_at bigint,
  used_at bigint
);
CREATE UNIQUE INDEX tokens_by_name ON @.tokens (name) WHERE revoked_at IS NULL;

CREATE TABLE @.shares (
  key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  digest bytea NOT NULL,
  session text COLLATE "C" NOT NULL,
  incarnation text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  maker text COLLATE "C",
  created_at bigint NOT NULL,
  expires_at bigint,
  opened bigint NOT NULL DEFAULT 0,
  opened_at bigint
);
CREATE INDEX shares_by_session ON @.shares (session);
CREATE INDEX shares_by_owner ON @.shares (owner);
CREATE INDEX shares_by_maker ON @.shares (maker) WHERE maker IS NOT NULL;
CREATE INDEX shares_by_end ON @.shares (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE @.cookies (
  key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  digest bytea NOT NULL,
  holder text COLLATE "C" NOT NULL,
  principal text,
  expires_at bigint NOT NULL
);
CREATE INDEX cookies_by_holder ON @.cookies (holder);
CREATE INDEX cookies_by_end ON @.cookies (expires_at);

CREATE TABLE @.tickets (
  id text COLLATE "C" PRIMARY KEY,
  digest bytea NOT NULL,
  holder text COLLATE "C" NOT NULL,
  principal text,
  cookie text COLLATE "C",
  session text,
  expires_at bigint NOT NULL
);
CREATE INDEX tickets_by_holder ON @.tickets (holder);
CREATE INDEX tickets_by_end ON @.tickets (expires_at);

CREATE TABLE @.spent (
  day integer NOT NULL,
  holder text COLLATE "C" NOT NULL,
  tokens bigint NOT NULL,
  PRIMARY KEY (day, holder)
);
`;

/** Version 1 to 2. */
const COUNT_OPENINGS = `
ALTER TABLE @.shares ADD COLUMN opened bigint NOT NULL DEFAULT 0, ADD COLUMN opened_at bigint;
`;

export const CREDENTIALS_FORMAT: PostgresFormat = {
  name: "credentials",
  schema: SCHEMA,
  oldest: 1,
  migrations: [COUNT_OPENINGS],
};

/** Serializes the creation of tokens and links, whose number is limited. */
export const LOCK = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))";

const OWN_TOKENS = "SELECT 'token:' || id FROM @.tokens WHERE owner = $1";
const OWN_SHARES = "SELECT 'share:' || id FROM @.shares WHERE owner = $1";

export const SQL = {
  readVersion: "SELECT version FROM @.credential_changes",
  countChange: "UPDATE @.credential_changes SET version = version + 1",

  addToken: `INSERT INTO @.tokens (id, digest, name, owner, scopes, agents, tools, limits, created_at, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING *`,
  importToken: `INSERT INTO @.tokens
    (id, digest, name, owner, scopes, agents, tools, limits, created_at, expires_at, revoked_at, used_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
  revokeImported: "UPDATE @.tokens SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL",
  exportTokens: "SELECT * FROM @.tokens ORDER BY key",
  findToken: "SELECT * FROM @.tokens WHERE id = $1",
  listTokens: "SELECT * FROM @.tokens WHERE owner <> '' ORDER BY key DESC",
  anyToken: "SELECT 1 FROM @.tokens LIMIT 1",
  takenName: "SELECT 1 FROM @.tokens WHERE (name = $1 AND revoked_at IS NULL) OR id = $1 LIMIT 1",
  /** Deletes the oldest revoked and expired tokens until there are fewer than `$2`. */
  dropTokens: `DELETE FROM @.tokens WHERE key IN (SELECT key FROM @.tokens
    WHERE revoked_at IS NOT NULL OR expires_at <= $1 ORDER BY key
    LIMIT greatest(0, (SELECT count(*) FROM @.tokens) - $2 + 1))`,
  countTokens: "SELECT count(*) AS n FROM @.tokens",
  revokeToken: `UPDATE @.tokens SET revoked_at = $1 WHERE revoked_at IS NULL AND key =
    (SELECT key FROM @.tokens WHERE revoked_at IS NULL AND (id = $2 OR name = $2) ORDER BY id = $2 DESC LIMIT 1)
    RETURNING id`,
  wasRevoked: "SELECT id FROM @.tokens WHERE revoked_at = $1 AND (id = $2 OR name = $2)",
  useToken: "UPDATE @.tokens SET used_at = $1 WHERE id = $2 AND (used_at IS NULL OR used_at < $1)",

  addShare: `INSERT INTO @.shares (id, digest, session, incarnation, owner, maker, created_at, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING *`,
  findShare: "SELECT * FROM @.shares WHERE id = $1",
  listShares: `SELECT * FROM @.shares WHERE session = $1 AND incarnation = $2 AND (expires_at IS NULL OR expires_at > $3)
    ORDER BY key DESC`,
  countSharesOfSession: "SELECT count(*) AS n FROM @.shares WHERE session = $1",
  openShare: "UPDATE @.shares SET opened = opened + 1, opened_at = $1 WHERE id = $2",
  dropShares: `DELETE FROM @.shares WHERE key IN
    (SELECT key FROM @.shares WHERE owner = $1 ORDER BY key DESC OFFSET greatest(0, $2::bigint - 1))
    RETURNING 1`,
  sweepShares: "DELETE FROM @.shares WHERE expires_at <= $1 OR (session = $2 AND incarnation <> $3) RETURNING 1",
  dropSharesOf: "DELETE FROM @.shares WHERE maker = $1",
  revokeShare: "DELETE FROM @.shares WHERE id = $1 AND session = $2 RETURNING expires_at",

  addCookie: "INSERT INTO @.cookies (id, digest, holder, principal, expires_at) VALUES ($1, $2, $3, $4, $5)",
  findCookie: "SELECT * FROM @.cookies WHERE id = $1",
  sweepCookies: "DELETE FROM @.cookies WHERE expires_at <= $1",
  dropCookiesOf: `DELETE FROM @.cookies WHERE key IN
    (SELECT key FROM @.cookies WHERE holder = $1 ORDER BY key DESC OFFSET greatest(0, $2::bigint - 1))
    RETURNING 1`,
  dropCookies: `DELETE FROM @.cookies WHERE key IN
    (SELECT key FROM @.cookies ORDER BY key DESC OFFSET greatest(0, $1::bigint - 1)) RETURNING 1`,
  deleteCookie: "DELETE FROM @.cookies WHERE id = $1 AND digest = $2 RETURNING id",

  /** Expired tickets do not count; the statement does not see its own deletions. A repetition finds its ticket. */
  addTicket: `WITH swept AS (DELETE FROM @.tickets WHERE expires_at <= $8)
    INSERT INTO @.tickets (id, digest, holder, principal, cookie, session, expires_at)
    SELECT $1, $2::bytea, $3, $4, $5, $6, $7::bigint
    WHERE (SELECT count(*) FROM @.tickets WHERE holder = $3 AND expires_at > $8) < $9
      AND (SELECT count(*) FROM @.tickets WHERE expires_at > $8) < $10
    ON CONFLICT (id) DO UPDATE SET id = excluded.id RETURNING id`,
  useTicket: "DELETE FROM @.tickets WHERE id = $1 AND digest = $2 RETURNING *",

  addSpent: `INSERT INTO @.spent AS s (day, holder, tokens) VALUES ($1, $2, $3)
    ON CONFLICT (day, holder) DO UPDATE SET tokens = least(s.tokens + excluded.tokens, 9007199254740991)
    RETURNING tokens`,
  readSpent: "SELECT tokens FROM @.spent WHERE day = $1 AND holder = $2",
  sweepSpent: "DELETE FROM @.spent WHERE day < $1",

  // A JWT principal has the ID of its owner.
  eraseSpent: `DELETE FROM @.spent WHERE holder IN ($1, 'user:' || $1) OR holder IN (${OWN_TOKENS}) RETURNING 1`,
  eraseCookies: `DELETE FROM @.cookies WHERE holder IN ($1, 'user:' || $1) OR holder IN (${OWN_TOKENS}) OR holder IN (${OWN_SHARES})
    RETURNING 1`,
  eraseTickets: `DELETE FROM @.tickets WHERE holder IN ($1, 'user:' || $1) OR holder IN (${OWN_TOKENS}) OR holder IN (${OWN_SHARES})
    RETURNING 1`,
  eraseShares: `DELETE FROM @.shares WHERE owner = $1 OR maker IN ($1, 'user:' || $1) OR maker IN (${OWN_TOKENS}) RETURNING 1`,
  /** The newest token stays as an empty, revoked row, because authentication must not turn itself off. */
  eraseLastToken: `UPDATE @.tokens SET digest = decode(repeat('00', 32), 'hex'), name = '', owner = '', scopes = '[]',
    agents = NULL, tools = NULL, limits = '{}', used_at = NULL, expires_at = NULL, revoked_at = coalesce(revoked_at, $2)
    WHERE owner = $1 AND key = (SELECT max(key) FROM @.tokens) RETURNING 1`,
  eraseTokens: "DELETE FROM @.tokens WHERE owner = $1 RETURNING 1",
} as const;
