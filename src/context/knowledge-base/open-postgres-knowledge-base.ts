/**
 * Opens a knowledge base in PostgreSQL. Loads the implementation on the first call: a program without a database needs
 * none of it.
 */
import type { PostgresDatabase } from "../../postgres/postgres-database.ts";
import type { PostgresOptions } from "../../postgres/postgres-options.ts";
import { type KnowledgeBaseOptions, resolveLimits } from "./knowledge-base-options.ts";
import { KnowledgeBase } from "./knowledge-base.ts";

/** Options of `openPostgresKnowledgeBase`. */
export interface PostgresKnowledgeBaseOptions extends KnowledgeBaseOptions {
  /** Options of the connections. */
  readonly connection?: PostgresOptions;
}

/**
 * Opens the knowledge base in a PostgreSQL database, for several processes on several machines; creates its tables if
 * they do not exist. Needs the package `pg`.
 *
 * ```ts
 * await using base = await openPostgresKnowledgeBase("postgres://loom@db.example.com/loom");
 * ```
 *
 * Throws `missing_package`, `store_unavailable`, `store_newer`, `store_failed` or `invalid_arguments`.
 */
export async function openPostgresKnowledgeBase(
  url: string,
  { connection = {}, ...options }: PostgresKnowledgeBaseOptions = {},
): Promise<KnowledgeBase> {
  const limits = resolveLimits(options);
  const { openPostgresKnowledgeStore } = await import("./postgres/postgres-knowledge-store.ts");
  return new KnowledgeBase(await openPostgresKnowledgeStore(url, limits, connection), limits);
}

/** Opens the knowledge base in a database that other parts of the process use too. The caller closes the database. */
export async function openSharedKnowledgeBase(
  db: PostgresDatabase,
  options: KnowledgeBaseOptions = {},
): Promise<KnowledgeBase> {
  const limits = resolveLimits(options);
  const { openPostgresKnowledgeStore } = await import("./postgres/postgres-knowledge-store.ts");
  return new KnowledgeBase(await openPostgresKnowledgeStore(db, limits), limits);
}
