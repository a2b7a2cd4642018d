/** The thread that searches a store, on its own read-only connection. */
import { workerData } from "node:worker_threads";
import { serveQueries } from "../../sqlite/serve-queries.ts";
import type { SearchSessionsOptions } from "../log.ts";
import type { OpenedStore } from "./connection.ts";
import { StoreReader } from "./store-reader.ts";

export interface SearchQuery {
  readonly options: SearchSessionsOptions;
  /** The time of the log, in milliseconds since 1970. */
  readonly now: number;
}

const store = workerData as OpenedStore;
let time = 0;
const reader = new StoreReader(store, () => time);

serveQueries<SearchQuery>({
  path: store.path,
  answer({ options, now }) {
    time = now;
    return reader.searchSessions(options);
  },
  close: () => reader.close(),
});
