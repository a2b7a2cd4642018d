/** The SQL statements that read and write the rows of a knowledge base file. */

const DOCUMENT =
  "d.key, d.uri, c.name AS collection, d.title, d.format, d.bytes, d.modified_at AS modifiedAt, " +
  "d.indexed_at AS indexedAt, d.hash, d.chunks, d.root, d.stamp FROM documents d JOIN collections c ON c.key = d.collection";

const IS_PUBLISHED =
  "EXISTS (SELECT 1 FROM chunks p JOIN documents d ON d.key = p.document WHERE p.key = terms.rowid AND d.uri IS NOT NULL)";

export const STATEMENTS = {
  find: `SELECT ${DOCUMENT} WHERE d.uri = ?`,
  list: `SELECT ${DOCUMENT} WHERE d.uri > ? ORDER BY d.uri LIMIT ?`,
  listOf: `SELECT ${DOCUMENT} WHERE d.collection = (SELECT key FROM collections WHERE name = ?) AND d.uri > ? ORDER BY d.uri LIMIT ?`,
  under: "SELECT key, uri, root FROM documents WHERE uri >= ? AND uri < ? ORDER BY uri LIMIT ?",
  totals: "SELECT documents, chunks, bytes FROM totals",
  add: "UPDATE totals SET documents = documents + ?, chunks = chunks + ?, bytes = bytes + ?",
  generation: "SELECT generation FROM totals",
  bump: "UPDATE totals SET generation = generation + 1",
  size: "SELECT bytes, chunks FROM documents WHERE key = ? AND uri IS NOT NULL",
  collections:
    "SELECT c.name, count(d.key) AS documents FROM collections c JOIN documents d ON d.collection = c.key WHERE d.uri IS NOT NULL GROUP BY c.key ORDER BY c.name",
  note: "SELECT text FROM notes WHERE name = ?",
  setNote: "INSERT INTO notes (name, text) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET text = excluded.text",
  collection: "SELECT key FROM collections WHERE name = ?",
  addCollection: "INSERT INTO collections (name) VALUES (?)",
  addDocument:
    "INSERT INTO documents (uri, collection, title, format, bytes, modified_at, indexed_at, hash, chunks, root, stamp) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
  grow: "UPDATE documents SET indexed_at = ?, chunks = chunks + ? WHERE key = ? AND uri IS NULL",
  publish: "UPDATE documents SET uri = ?, indexed_at = ? WHERE key = ? AND uri IS NULL",
  hide: "UPDATE documents SET uri = NULL, indexed_at = 0 WHERE key = ?",
  leftover: "SELECT key FROM documents WHERE uri IS NULL AND indexed_at < ? LIMIT 1",
  touch: "UPDATE documents SET modified_at = ?, indexed_at = ?, root = ?, stamp = ? WHERE key = ? AND hash = ?",
  deleteDocument: "DELETE FROM documents WHERE key = ?",
  addChunk: "INSERT INTO chunks (document, first_line, last_line, headings, content) VALUES (?, ?, ?, ?, ?)",
  deleteTerms: "DELETE FROM terms WHERE rowid IN (SELECT key FROM chunks WHERE document = ? ORDER BY key LIMIT ?)",
  deleteChunks: "DELETE FROM chunks WHERE key IN (SELECT key FROM chunks WHERE document = ? ORDER BY key LIMIT ?)",
  addTerms: "INSERT INTO terms (rowid, title, headings, body, scope) VALUES (?, ?, ?, ?, ?)",
  frequency: "SELECT doc FROM vocabulary WHERE term = ?",
  termsWithPrefix: "SELECT term, doc AS count FROM vocabulary WHERE term >= ? AND term < ?",
  match: `SELECT rowid AS key, -rank AS weight FROM terms WHERE terms MATCH ? AND ${IS_PUBLISHED} ORDER BY rank LIMIT ?`,
  matchSome: `SELECT rowid AS key, -bm25(terms, 4.0, 3.0, 1.0, 0.0) AS weight FROM terms WHERE terms MATCH ? AND ${IS_PUBLISHED} LIMIT ?`,
  passagesOf:
    "SELECT content, first_line AS firstLine, last_line AS lastLine FROM chunks WHERE document = ? ORDER BY key LIMIT ? OFFSET ?",
  passagesBefore: "SELECT count(*) AS count FROM chunks WHERE document = ? AND last_line < ?",
  passage:
    "SELECT p.key, p.document, d.uri, d.title, c.name AS collection, p.first_line AS firstLine, p.last_line AS lastLine, " +
    "p.headings, p.content FROM chunks p JOIN documents d ON d.key = p.document JOIN collections c ON c.key = d.collection " +
    "WHERE p.key = ? AND d.uri IS NOT NULL",
} as const;
