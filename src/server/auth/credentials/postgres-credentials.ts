/**
 * Credential store in PostgreSQL, which several processes and machines share. Whether a credential became invalid, each
 * process asks the database at most every half second, for all credentials at once.
 *
 * Invariant: other processes accept a revoked credential for at most `MAX_STALE_MS` and the time of one statement.
 */
import { migratePostgres, type PostgresFormat } from "../../../postgres/migrate.ts";
import type { PostgresDatabase } from "../../../postgres/postgres-database.ts";
import { fromColumn, toColumn } from "../../../postgres/text-column.ts";
import type { Credentials, CredentialsOptions } from "./credentials.ts";
import type { CredentialsDriver, Steps, Value } from "./credential-rows.ts";
import { StoredCredentials } from "./stored-credentials.ts";

/** How long a cached credential is trusted without asking the database, in milliseconds. */
const MAX_STALE_MS = 500;

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

const LOCK = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))";

export interface PostgresCredentialsOptions extends Pick<CredentialsOptions, "limits" | "now"> {
  /** Default: 500. */
  readonly maxStaleMs?: number | undefined;
}

/** Creates the tables if they do not exist. The caller closes the database. */
export async function openPostgresCredentials(
  db: PostgresDatabase,
  options: PostgresCredentialsOptions = {},
): Promise<Credentials> {
  await migratePostgres(db, CREDENTIALS_FORMAT);
  return new StoredCredentials(new PostgresDriver(db, options.maxStaleMs), options);
}

class PostgresDriver implements CredentialsDriver {
  readonly countChange = "UPDATE @.credential_changes SET version = version + 1";
  readonly toColumn = toColumn;
  readonly fromColumn = fromColumn;
  readonly #db: PostgresDatabase;
  readonly #maxStaleMs: number;
  #version: number | undefined;
  #checkedAt = Number.NEGATIVE_INFINITY;
  /** Checks that are running, by the time that they wait for a database that is away. */
  readonly #checking = new Map<number, Promise<void>>();

  constructor(db: PostgresDatabase, maxStaleMs = MAX_STALE_MS) {
    this.#db = db;
    this.#maxStaleMs = maxStaleMs;
  }

  async read<T>(steps: () => Steps<T>): Promise<T> {
    return run(steps(), async (sql, values) => this.#db.read(sql, values));
  }

  async readChecked<T>(steps: (version: unknown) => Steps<T>): Promise<T> {
    await this.#refresh();
    return this.read(() => steps(this.#version));
  }

  /** Requests wait for it, so it waits no longer than a read. */
  async write(sql: string, values: readonly Value[]): Promise<readonly unknown[]> {
    return this.#db.write(sql, values, this.#db.settings.readWaitMs);
  }

  async transact<T>(steps: (attempt: number) => Steps<T>, lock?: string): Promise<T> {
    const { readWaitMs: waitMs } = this.#db.settings;
    return this.#db.transact(
      async ({ query, attempt }) => {
        if (lock !== undefined) await query(LOCK, [`loom ${lock}`]);
        return run(steps(attempt), query);
      },
      { waitMs },
    );
  }

  async overwriteErased(): Promise<void> {}

  async close(): Promise<void> {}

  /** Reads the version if it is too old. Concurrent calls that wait equally long share a check. */
  async #refresh(): Promise<void> {
    const now = performance.now();
    if (now - this.#checkedAt < this.#maxStaleMs) return;
    const { readWaitMs } = this.#db;
    let checking = this.#maxStaleMs === 0 ? undefined : this.#checking.get(readWaitMs);
    if (checking === undefined) this.#checking.set(readWaitMs, (checking = this.#checkVersion(readWaitMs)));
    await checking;
  }

  async #checkVersion(waitMs: number): Promise<void> {
    const began = performance.now();
    try {
      const [row] = await this.#db.read<{ readonly version: number }>(
        "SELECT version FROM @.credential_changes",
        [],
        waitMs,
      );
      this.#version = row?.version;
      this.#checkedAt = began;
    } finally {
      this.#checking.delete(waitMs);
    }
  }
}

async function run<T>(
  steps: Steps<T>,
  query: (sql: string, values: readonly Value[]) => Promise<readonly unknown[]>,
): Promise<T> {
  let step = steps.next();
  while (step.done !== true) step = steps.next(await query(step.value.sql, step.value.values));
  return step.value;
}
