/** The thread that writes a store. */
import { workerData } from "node:worker_threads";
import { serveGroups } from "../../sqlite/serve-groups.ts";
import { openConnection } from "./connection.ts";
import { type Group, unpackGroup, type WriterData } from "./operations.ts";
import { SqliteStore } from "./sqlite-store.ts";

const { path, file, writer, options, limits } = workerData as WriterData;

serveGroups({
  path,
  file,
  open: () => new SqliteStore(openConnection(path, options), options.maxRecentRows, writer, limits),
  unpack: (group) => unpackGroup(group as Group),
});
