/** The thread that searches a knowledge base file, on its own read-only connection. */
import { workerData } from "node:worker_threads";
import { assertFile } from "../../sqlite/file-identity.ts";
import { serveQueries } from "../../sqlite/serve-queries.ts";
import type { KnowledgeBaseLimits } from "./knowledge-base-options.ts";
import { openKnowledgeReader } from "./knowledge-schema.ts";
import { KnowledgeStore } from "./knowledge-store.ts";
import { searchPassages } from "./search-passages.ts";

export interface PassageSearchData {
  readonly path: string;
  /** Identity of the file, see `assertFile`. */
  readonly file: string;
  readonly limits: KnowledgeBaseLimits;
}

export interface PassageQuery {
  readonly query: string;
  readonly limit: number;
  readonly collection: string | undefined;
}

const { path, file, limits } = workerData as PassageSearchData;
let store: KnowledgeStore | undefined;

serveQueries<PassageQuery>({
  path,
  answer({ query, limit, collection }) {
    // Opening a path creates a missing file.
    if (store === undefined) assertFile(path, file);
    store ??= new KnowledgeStore(openKnowledgeReader(path), path, limits.busyTimeoutMs);
    return searchPassages(store, query, limit, collection, limits);
  },
  close: () => store?.close(),
});
