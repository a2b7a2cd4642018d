/**
 * The tables of a knowledge base in PostgreSQL.
 *
 * - Rows of `knowledge_passages` belong to a document. A transaction may write them before the document; others see both
 *   at once.
 * - `terms` of a passage are its distinct terms, then marked ones (see `index-passage.ts`). `hits` says how often each of
 *   the first ones occurs.
 * - `knowledge_terms` counts the passages of each term. GIN cannot do that without reading them.
 * - `knowledge_totals` has one row. Transactions that change documents lock it, so they do not run at the same time and
 *   cannot block each other forever.
 * - A uri or a name can be longer than a row of a B-tree. Hash indexes take any length; lists are sorted by an index of
 *   the first characters.
 */
import type { PostgresFormat } from "../../../postgres/migrate.ts";

const SCHEMA = `
CREATE TABLE @.knowledge_totals (
  documents bigint NOT NULL, passages bigint NOT NULL, bytes bigint NOT NULL, length bigint NOT NULL
);
INSERT INTO @.knowledge_totals VALUES (0, 0, 0, 0);
CREATE TABLE @.knowledge_notes (
  name text COLLATE "C" NOT NULL,
  text text NOT NULL,
  EXCLUDE USING hash (name WITH =)
);
CREATE SEQUENCE @.knowledge_keys;
CREATE TABLE @.knowledge_documents (
  key bigint PRIMARY KEY,
  uri text COLLATE "C" NOT NULL,
  collection text COLLATE "C" NOT NULL,
  -- The mark of the collection in the index.
  scope text COLLATE "C" NOT NULL,
  title text NOT NULL,
  format text NOT NULL,
  bytes bigint NOT NULL,
  modified_at double precision NOT NULL,
  indexed_at double precision NOT NULL,
  hash text NOT NULL,
  passages bigint NOT NULL,
  root text,
  stamp text NOT NULL,
  -- The call that wrote it, which recognizes it after a commit whose answer was lost.
  write_id text NOT NULL,
  EXCLUDE USING hash (uri WITH =)
);
CREATE INDEX knowledge_documents_by_uri ON @.knowledge_documents (left(uri, 600));
CREATE INDEX knowledge_documents_by_scope ON @.knowledge_documents (scope, left(uri, 600));
CREATE TABLE @.knowledge_passages (
  key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  document bigint NOT NULL,
  first_line integer NOT NULL,
  last_line integer NOT NULL,
  headings text NOT NULL,
  content text NOT NULL,
  length integer NOT NULL,
  terms text[] COLLATE "C" NOT NULL,
  hits integer[] NOT NULL
);
-- Searches read the terms of many passages: compressed or in another table, that takes several times as long.
ALTER TABLE @.knowledge_passages SET (toast_tuple_target = 8160);
ALTER TABLE @.knowledge_passages ALTER COLUMN terms SET STORAGE EXTERNAL, ALTER COLUMN hits SET STORAGE EXTERNAL;
CREATE INDEX knowledge_passages_by_document ON @.knowledge_passages (document);
-- New entries are sorted in together, up to 1 MiB. Every search reads those that wait.
CREATE INDEX knowledge_passages_by_term ON @.knowledge_passages USING gin (terms) WITH (gin_pending_list_limit = 1024);
CREATE TABLE @.knowledge_terms (
  term text COLLATE "C" PRIMARY KEY,
  passages bigint NOT NULL
) WITH (fillfactor = 80);
`;

export const KNOWLEDGE_FORMAT: PostgresFormat = { name: "knowledge base", schema: SCHEMA, oldest: 1, migrations: [] };
