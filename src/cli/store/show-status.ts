/** `loom store status`: describes a store without changing it. */
import { readStoreStatus } from "../../log/maintain-store.ts";
import type { StoredPartVersion, StoreStatus } from "../../log/store-status.ts";
import type { PostgresOptions } from "../../postgres/postgres-options.ts";
import { isLoomError } from "../../protocol/index.ts";
import { SERVER_FORMATS } from "../../server/postgres-formats.ts";
import { adviseOnStore, type StoreProblem } from "../explain-error.ts";
import { hideCredentials, isDatabase, storeExists } from "../find-store.ts";
import { formatJson } from "../fit-text.ts";
import { formatFields } from "../format-table.ts";
import { CliError, type ParsedCommand } from "../command.ts";
import type { Terminal } from "../terminal.ts";

export async function showStatus(
  store: string,
  database: PostgresOptions,
  { options }: ParsedCommand,
  terminal: Terminal,
): Promise<number> {
  const { status, problem } = await readStatus(store, database);
  const kind = isDatabase(store) ? "postgres" : "sqlite";
  const advice = problem === undefined ? undefined : adviseOnStore(problem, kind === "postgres");
  const where = { kind, store: hideCredentials(store), ...(kind === "postgres" ? { schema: database.schema } : {}) };
  const { counts } = status ?? {};
  const contents =
    counts === undefined
      ? {}
      : {
          sessions: counts.sessions,
          records: counts.records,
          bytes: counts.bytes,
          live_runs: counts.liveRuns,
          pending_commands: counts.pendingCommands,
          workers: counts.workers,
        };
  const versions = status?.versions ?? [];
  if (options["json"] === true) {
    const isReachable = status !== undefined || problem?.code === "store_newer" || problem?.code === "store_older";
    const state = { reachable: isReachable, usable: problem === undefined, versions, ...contents };
    const about = problem === undefined ? {} : { problem: { ...problem, advice } };
    await terminal.write(formatJson({ ...where, ...state, ...about }));
  } else {
    const rows: [name: string, value: string][] = Object.entries({ ...where, ...contents }).map(([name, value]) => [
      name.replace("_", " "),
      String(value),
    ]);
    for (const { name, stored, supported } of versions) {
      const version = stored === 0 ? "none" : String(stored);
      rows.push([`version of ${name}`, stored === supported ? version : `${version}, supported is ${supported}`]);
    }
    rows.push(["usable", problem === undefined ? "yes" : `no: ${problem.message}`]);
    if (advice !== undefined) rows.push(["next", advice]);
    await terminal.write(formatFields(rows));
  }
  return problem === undefined ? 0 : 1;
}

/** Reads the status of a store, or why it cannot be used. */
export async function readStatus(
  store: string,
  database: PostgresOptions,
): Promise<{ readonly status?: StoreStatus; readonly problem: StoreProblem | undefined }> {
  try {
    if (!storeExists(store)) return { problem: { code: "store_missing", message: "the file does not exist" } };
    const status = await readStoreStatus(store, SERVER_FORMATS, database);
    // A server creates the tables of a part when it first uses it: one without authentication needs none for tokens.
    const isUnused = status.counts === undefined ? () => false : ({ stored }: StoredPartVersion) => stored === 0;
    const old = status.versions
      .filter((part) => part.stored < part.supported && !isUnused(part))
      .map(({ name }) => name);
    if (old.length === 0) return { status, problem: undefined };
    return {
      status,
      problem: { code: "store_outdated", message: `tables of an older version or none: ${old.join(", ")}` },
    };
  } catch (error) {
    if (error instanceof CliError) return { problem: { code: "store_failed", message: error.message } };
    if (!isLoomError(error)) throw error;
    return { problem: { code: error.code, message: error.message } };
  }
}
