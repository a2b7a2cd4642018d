/**
 * The tables of the server in PostgreSQL, beside those of the log. `loom store migrate` creates and updates them, so that
 * servers need no permission to do it.
 */
import { KNOWLEDGE_FORMAT } from "../context/knowledge-base/postgres/knowledge-schema.ts";
import type { PostgresFormat } from "../postgres/migrate.ts";
import { CREDENTIALS_FORMAT } from "./auth/credentials/postgres-credentials.ts";
import { RATE_COUNTERS_FORMAT } from "./auth/limits/postgres-rates.ts";
import { BLOBS_FORMAT } from "./blobs/open-postgres-blob-store.ts";

export const SERVER_FORMATS: readonly PostgresFormat[] = [
  CREDENTIALS_FORMAT,
  RATE_COUNTERS_FORMAT,
  BLOBS_FORMAT,
  KNOWLEDGE_FORMAT,
];
