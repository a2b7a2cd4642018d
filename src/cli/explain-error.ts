/** Turns the errors of stores and servers into messages that say what to do next. */
import { type ErrorCode, isLoomError, type LoomError } from "../protocol/index.ts";
import { CliError } from "./command.ts";
import { toFlagNames } from "./run/read-agent-options.ts";

const OTHER_SERVER = "check that --server or LOOM_SERVER is the address of a Loom server";

const ADVICE: { readonly [C in ErrorCode]?: string } = {
  unknown_session: "list the sessions with `loom sessions list`",
  unknown_run: "list the runs with `loom sessions runs SESSION`",
  unknown_checkpoint: "the checkpoints are in the records: `loom show SESSION --events --modes checkpoints`",
  session_exists: "choose another ID with `--session ID`",
  session_id_taken: "choose another ID with `--session ID`",
  unauthorized: "create a token on the server with `loom token create NAME`, and pass it with --token-file",
  connection_lost: "check that the server runs and that --server or LOOM_SERVER is its address",
  connection_refused: OTHER_SERVER,
  not_found: OTHER_SERVER,
  reconnect_limit: "check that the server runs, and run the command again",
  cursor_stale: "read the session from the start, without --after",
  cursor_invalid: "pass a cursor that `loom show --follow` printed, or the ID of a record",
  cursor_ahead: "pass a cursor that `loom show --follow` printed, or the ID of a record",
  evicted: "older records were pruned; start at a later one",
  run_live: "wait for the run to end, or cancel it with `loom cancel SESSION`",
  lease_held: "another process writes the session; wait until it ends, or use another session",
  store_newer: "upgrade Loom",
  store_unavailable: "start the database, and check host and port of the URL",
  store_timeout: "run the command again; LOOM_STORE_TIMEOUT is the time that a statement may take",
  store_corrupt: "`loom store verify` names what is damaged; restore a backup",
  import_invalid: "import a file that `loom sessions export` wrote; other streams can be recorded with `loom ingest`",
  ingest_invalid: "`loom check` lists everything that is wrong with the stream",
};

const OTHER_STORE = "check the path, or choose another store with --store or LOOM_STORE";

/** What to do about a database that cannot be used. `store_missing` and `store_outdated` come from `loom store status`. */
const DATABASE_ADVICE: { readonly [code: string]: string } = {
  store_missing: "create it with `loom store migrate`, or choose another store with --store or LOOM_STORE",
  store_outdated: "run `loom store migrate` for this store",
};

/** What to do about `store_failed` of a database, by the start of the message. Other messages say it themselves. */
const DATABASE_FAILURES: { readonly [start: string]: string } = {
  "The URL of the database": `write postgres://user@host:5432/database, with special characters encoded: %40 for @`,
  "The database refused access": "check the user, the password, the name of the database and the permissions",
};

/** Runs `work`. A LoomError becomes a CliError with a hint. */
export async function explainErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isLoomError(error)) throw error;
    throw new CliError(...describeError(error));
  }
}

/** Returns the message of an error with the path of a store, and what to do next. */
export function describeError({ code, message, details }: LoomError): readonly [message: string, hint?: string] {
  const { path } = details;
  const isNamed = typeof path !== "string" || !code.startsWith("store_") || message.includes(path);
  const shown = toFlagNames(isNamed ? message : `${message} (\`${path}\`)`);
  const hint = typeof path === "string" ? adviseOnFile({ code, message }) : adviseOnDatabase({ code, message });
  return hint === undefined ? [shown] : [shown, hint];
}

export interface StoreProblem {
  readonly code: string;
  readonly message: string;
}

/** What to do about a store that cannot be used. */
export function adviseOnStore(problem: StoreProblem, isDatabase: boolean): string | undefined {
  return (isDatabase ? adviseOnDatabase : adviseOnFile)(problem);
}

function adviseOnDatabase({ code, message }: StoreProblem): string | undefined {
  if (code !== "store_failed") return DATABASE_ADVICE[code] ?? ADVICE[code as ErrorCode];
  return Object.entries(DATABASE_FAILURES).find(([start]) => message.startsWith(start))?.[1];
}

function adviseOnFile({ code, message }: StoreProblem): string | undefined {
  const isOther = code === "store_failed" || code === "store_read_only" || message.startsWith("The file is not a ");
  return isOther ? OTHER_STORE : (ADVICE[code as ErrorCode] ?? DATABASE_ADVICE[code]);
}
