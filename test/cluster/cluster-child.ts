/**
 * A server process for the tests of several servers with one database: an agent that notes each message in a file with a
 * tool, sometimes after an approval, and then answers. Prints `listening <url>`. Its argument is JSON, see
 * `ClusterChildOptions`. It notes the fate of each append in a file, see `ack-ledger.ts`.
 */
import { openSharedPostgresLog } from "../../src/log/open-log.ts";
import { openPostgres } from "../../src/postgres/postgres-database.ts";
import { openPostgresCredentials } from "../../src/server/auth/credentials/postgres-credentials.ts";
import { startLoomServer } from "../../src/server/loom-server.ts";
import { createNotingAgent } from "../chaos/noting-agent.ts";
import { printLine } from "../durability/print-line.ts";
import { noteAppends } from "./ack-ledger.ts";

export interface ClusterChildOptions {
  readonly database: string;
  readonly port: number;
  /** An additional allowed host: the proxy in front of all servers. */
  readonly host: string;
  /** Folder for the notes about appends. */
  readonly acks: string;
  /** File for the calls of the tools. */
  readonly notes: string;
  /** Duration of a lease in milliseconds. */
  readonly ttlMs: number;
  /** Pause between two parts of an answer in milliseconds, and how often its text is repeated. */
  readonly partMs: number;
  readonly answers: number;
}

const options = JSON.parse(process.argv[2] ?? "{}") as ClusterChildOptions;
const { ttlMs, notes, partMs, answers } = options;
/** High enough for all clients of the tests, which share one token. */
const NO_LIMITS = { requestsPerMinute: 1e6, runsPerMinute: 1e6, maxRuns: 1e6, maxStreams: 1e6 };
/** A run is continued however often its process is killed, so that each one must complete. */
const MAX_ATTEMPTS = 1000;
const CHUNK = 16;

const db = await openPostgres(options.database);
const log = await openSharedPostgresLog(db, {});
noteAppends(log, options.acks);
const server = await startLoomServer({
  log,
  agents: {
    main: createNotingAgent({ notes, partMs, answers, chunk: CHUNK }),
  },
  auth: { credentials: await openPostgresCredentials(db), limits: NO_LIMITS, maxFailures: 10_000 },
  port: options.port,
  hosts: [options.host],
  limits: { heartbeatMs: 500 },
  runs: { sweepMs: ttlMs / 4, session: { ttlMs, maxAttempts: MAX_ATTEMPTS } },
});
printLine(`listening ${server.url}`);
// The test has ended.
process.stdin.resume().on("end", () => process.kill(process.pid, "SIGKILL"));
