/** Options of a PostgreSQL database that stores sessions. */
import { LoomError } from "../protocol/loom-error.ts";

/** Options of a connection to PostgreSQL. */
export interface PostgresOptions {
  /** Schema of all tables; it is created if it does not exist. Default: `loom`. */
  readonly schema?: string;
  /** Maximum number of connections of this process, without the one that listens. Default: 10. */
  readonly maxConnections?: number;
  /**
   * URL for the connection that listens for changes. It must not go through a proxy that shares connections between
   * transactions, such as PgBouncer. Default: the URL of the database.
   */
  readonly listenUrl?: string;
  /**
   * How long a change waits for a database that is not available, in milliseconds, before it throws
   * `store_unavailable`. Default: 60,000.
   */
  readonly waitMs?: number;
  /** The same for reads, credentials and limits of clients. What runs read waits `waitMs`. Default: 3,000. */
  readonly readWaitMs?: number;
  /**
   * Maximum time of one statement in milliseconds. After a longer one, changes are repeated within `waitMs`, and throw
   * `store_timeout` if the database is available. Default: 30,000.
   */
  readonly statementMs?: number;
}

export const POSTGRES_DEFAULTS = {
  schema: "loom",
  maxConnections: 10,
  waitMs: 60_000,
  readWaitMs: 3000,
  statementMs: 30_000,
} as const;

/** Options with their defaults. */
export type PostgresSettings = Required<PostgresOptions>;

export function isSchemaName(name: string): boolean {
  return /^[a-z_][a-z0-9_]{0,62}$/.test(name);
}

/** Throws `store_failed` if an option is invalid. */
export function readPostgresOptions(url: string, options: PostgresOptions): PostgresSettings {
  const settings = { listenUrl: url, ...POSTGRES_DEFAULTS, ...options };
  for (const address of [url, settings.listenUrl])
    if (!URL.canParse(address)) throw new LoomError("store_failed", "The URL of the database is not valid");
  if (!isSchemaName(settings.schema))
    throw new LoomError(
      "store_failed",
      `The schema must have at most 63 lower-case letters, digits and underscores, not "${settings.schema}"`,
    );
  const { maxConnections, statementMs } = settings;
  for (const [name, value] of Object.entries({ maxConnections, statementMs }))
    if (!Number.isSafeInteger(value) || value < 1)
      throw new LoomError("store_failed", `\`${name}\` must be an integer of at least 1, not ${String(value)}`);
  return settings;
}
