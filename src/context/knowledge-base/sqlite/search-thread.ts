/** The thread that searches a knowledge base file, on its own read-only connection. */
import { workerData } from "node:worker_threads";
import { assertFile } from "../../../sqlite/file-identity.ts";
import { serveQueries } from "../../../sqlite/serve-queries.ts";
import type { KnowledgeBaseLimits } from "../knowledge-base-options.ts";
import { openKnowledgeReader } from "./knowledge-schema.ts";
import type { PassageQuery } from "../rank-passages.ts";
import { KnowledgeRows } from "./knowledge-rows.ts";
import { searchRows } from "./search-rows.ts";

export interface PassageSearchData {
  readonly path: string;
  /** Identity of the file, see `assertFile`. */
  readonly file: string;
  readonly limits: KnowledgeBaseLimits;
}

const { path, file, limits } = workerData as PassageSearchData;
let rows: KnowledgeRows | undefined;

serveQueries<PassageQuery>({
  path,
  answer(query) {
    // Opening a path creates a missing file.
    if (rows === undefined) assertFile(path, file);
    rows ??= new KnowledgeRows(openKnowledgeReader(path), path, limits.busyTimeoutMs);
    return searchRows(rows, query, limits);
  },
  close: () => rows?.close(),
});
