/**
 * Several server processes with one PostgreSQL database, for tests: each reaches the database through its own proxy, and
 * clients reach the servers through one that passes each connection to the next server in turn.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Log, openPostgresLog } from "../../src/log/index.ts";
import { openPostgres } from "../../src/postgres/postgres-database.ts";
import { openPostgresCredentials } from "../../src/server/auth/credentials/postgres-credentials.ts";
import { RestartedServer } from "../chaos/restarted-server.ts";
import { OWNER } from "../chaos/chaos-world.ts";
import { type PostgresServer, startPostgres } from "../postgres-server.ts";
import { startFaultProxy } from "../server/fault-proxy.ts";
import { findPort } from "../server/kill-fixture.ts";
import { startTcpProxy, type TcpProxy } from "../tcp-proxy.ts";
import { AckLedger } from "./ack-ledger.ts";
import type { ClusterChildOptions } from "./cluster-child.ts";

/** One server at one address, in one process after the other. */
export interface ClusterServer extends RestartedServer {
  /** Between this server and the database. */
  readonly link: TcpProxy;
  /** Faults that may cost it sessions now. */
  faults: number;
}

export interface Cluster {
  readonly database: PostgresServer;
  readonly servers: readonly ClusterServer[];
  /** URL of the proxy in front of all servers. */
  readonly url: string;
  /** The store, opened by the test process without a proxy. */
  readonly log: Log;
  /** Secret of a token of the owner. */
  readonly token: string;
  readonly ledger: AckLedger;
  /** Servers that ended by themselves. */
  readonly crashes: string[];
  readonly ttlMs: number;
  /** Sessions that were taken from a process without a fault. */
  readonly falseTakeovers: { count: number };
  /** Keys noted by the tools, in order. */
  readNotes(): readonly string[];
  close(): Promise<void>;
}

export interface ClusterOptions extends Pick<ClusterChildOptions, "ttlMs" | "partMs" | "answers"> {
  readonly random: (below: number) => number;
}

const SERVERS = 3;
/** Time in which a process finds out what it has lost. */
const NOTICE_MS = 5000;

export async function openCluster({ random, ...options }: ClusterOptions): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), "loom-cluster-"));
  const acks = join(folder, "acks");
  const notes = join(folder, "notes.txt");
  mkdirSync(acks);
  writeFileSync(notes, "");
  const database = await startPostgres();
  const db = await openPostgres(database.url);
  const token = (await (await openPostgresCredentials(db)).createToken({ name: "all", owner: OWNER })).secret;
  await db.close();
  const ports: number[] = [];
  while (ports.length < SERVERS) ports.push(await findPort((below) => random(below)));
  let turn = 0;
  const front = await startFaultProxy(
    () => `http://127.0.0.1:${ports[turn++ % SERVERS]}`,
    () => undefined,
  );
  const crashes: string[] = [];
  const servers = await Promise.all(
    ports.map(async (port): Promise<ClusterServer> => {
      const link = await startTcpProxy(database.port);
      const url = `postgres://postgres@127.0.0.1:${link.port}/postgres`;
      const child: ClusterChildOptions = {
        ...options,
        database: url,
        port,
        host: `127.0.0.1:${front.port}`,
        acks,
        notes,
      };
      const server = new RestartedServer("../cluster/cluster-child.ts", [JSON.stringify(child)], (error) =>
        crashes.push(String(error)),
      );
      return Object.assign(server, { link, faults: 0 });
    }),
  );
  await Promise.all(servers.map((server) => server.start()));
  const falseTakeovers = { count: 0 };
  const log = await openPostgresLog(database.url, { readWaitMs: 60_000, maxConnections: 20 });
  return {
    database,
    servers,
    url: front.url,
    log,
    token,
    crashes,
    ledger: new AckLedger(acks, (pid) => {
      const server = servers.find(({ child }) => child.process.pid === pid);
      if (server?.faults === 0) falseTakeovers.count++;
    }),
    falseTakeovers,
    ttlMs: options.ttlMs,
    readNotes: () => readFileSync(notes, "utf8").split("\n").filter(Boolean),
    async close() {
      for (const server of servers) {
        server.signal("SIGKILL");
        await server.child.ended.catch(() => undefined);
        await server.link.close();
      }
      await front.close();
      await log.close();
      await database.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Causes a fault that may cost these servers sessions. They may find that out later. */
export async function disturb(servers: readonly ClusterServer[], cause: () => Promise<void>): Promise<void> {
  for (const server of servers) server.faults++;
  try {
    await cause();
  } finally {
    for (const server of servers) setTimeout(() => server.faults--, NOTICE_MS).unref();
  }
}

/** Keys that were noted more than once. */
export function findRepeated(notes: readonly string[]): readonly string[] {
  const seen = new Set<string>();
  return notes.filter((key) => seen.has(key) || !seen.add(key));
}
