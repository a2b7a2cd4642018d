/**
 * A server process for the tests of several servers with one database: an agent that notes each message in a file with a
 * tool, sometimes after an approval, and then answers. Prints `listening <url>`. Its argument is JSON, see
 * `ClusterChildOptions`. It notes the fate of each append in a file, see `ack-ledger.ts`.
 */
import { appendFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { z } from "zod";
import { agent } from "../../src/agents/index.ts";
import { openSharedPostgresLog } from "../../src/log/open-postgres-log.ts";
import type { ScriptedRequest } from "../../src/models/scripted-model.ts";
import { openPostgres } from "../../src/postgres/postgres-database.ts";
import { openPostgresCredentials } from "../../src/server/auth/credentials/postgres-credentials.ts";
import { startLoomServer } from "../../src/server/loom-server.ts";
import { defineTool } from "../../src/tools/define-tool.ts";
import { printLine } from "../durability/print-line.ts";
import { createPacedModel } from "../server/paced-model.ts";
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
const { partMs, ttlMs, notes } = options;
/** High enough for all clients of the tests, which share one token. */
const NO_LIMITS = { requestsPerMinute: 1e6, runsPerMinute: 1e6, maxRuns: 1e6, maxStreams: 1e6 };
/** A run is continued however often its process is killed, so that each one must complete. */
const MAX_ATTEMPTS = 1000;
const CHUNK = 16;
const ANSWER = `Noted — 已记下. ${"The rest of this answer only makes the run take longer. ".repeat(options.answers)}`;

/** A call appends one line, so a call that ran twice is visible in the file. */
const createNote = (name: string, approval: "always" | "never") =>
  defineTool({
    name,
    description: "Notes a key.",
    input: z.object({ key: z.string() }),
    approval,
    async execute({ key }) {
      appendFileSync(notes, `${key}\n`);
      await setTimeout(partMs);
      return `noted ${key}`;
    },
  });

/** Depends only on the prompt: after a crash, another process continues. */
function answer({ prompt }: ScriptedRequest) {
  if (prompt.at(-1)?.role === "tool") return { text: ANSWER };
  const message = prompt.findLast(({ role }) => role === "user");
  // A message without an answer, for example a cancelled one, is joined with the next one. The last key counts.
  const key =
    JSON.stringify(message?.content)
      .match(/m-[\w-]+/g)
      ?.at(-1) ?? "?";
  const name = key.endsWith("-ask") ? "note_if_allowed" : "note";
  return { text: "I note it. ", calls: [{ name, input: { key } }] };
}

const db = await openPostgres(options.database);
const log = await openSharedPostgresLog(db, {});
noteAppends(log, options.acks);
const server = await startLoomServer({
  log,
  agents: {
    main: agent({
      model: createPacedModel(answer, () => setTimeout(partMs), { chunk: CHUNK }),
      tools: [createNote("note", "never"), createNote("note_if_allowed", "always")],
    }),
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
