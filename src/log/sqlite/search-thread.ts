/** The thread that searches a store, on its own read-only connection. */
import { workerData } from "node:worker_threads";
import { serveQueries } from "../../sqlite/serve-queries.ts";
import type { SearchSessionsOptions } from "../log.ts";
import type { WriterData } from "./operations.ts";
import { StoreReader } from "./store-reader.ts";

export type SearchData = Omit<WriterData, "writer">;

export interface SearchQuery {
  readonly options: SearchSessionsOptions;
  /** The time of the log, in milliseconds since 1970. */
  readonly now: number;
}

const { path, file, options: connection, limits } = workerData as SearchData;
let time = 0;
const reader = new StoreReader(path, file, connection, limits, () => time);

serveQueries<SearchQuery>({
  path,
  answer({ options, now }) {
    time = now;
    return reader.searchSessions(options);
  },
  close: () => reader.close(),
});
