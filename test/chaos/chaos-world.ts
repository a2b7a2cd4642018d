/**
 * What the chaos tests share: two servers on one store, a proxy with network faults in front of each, a small disk where
 * one can be mounted, and the list of violations.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout } from "node:timers/promises";
import type { Transport } from "../../src/client/index.ts";
import { type Log, openSqliteLog } from "../../src/log/index.ts";
import { type Credentials, openCredentials } from "../../src/server/index.ts";
import { createRandom, type FaultProxy, startFaultProxy } from "../server/fault-proxy.ts";
import { createTransport, findPort, type Kind } from "../server/kill-fixture.ts";
import { RestartedServer } from "./restarted-server.ts";

export const OWNER = "ann";
/** How long a client waits for an answer. Faults and a busy machine make servers slow. */
const TIMEOUT_MS = 3000;
const DISK_BYTES = 256 * 1024 * 1024;

/** A server at one address, in one process after the other, behind a proxy. */
export interface ChaosServer extends RestartedServer {
  readonly proxy: FaultProxy;
}

export interface ChaosWorld {
  readonly random: (below: number) => number;
  readonly servers: readonly [ChaosServer, ChaosServer];
  /** The store, opened by the test process, which only reads from it. */
  readonly log: Log;
  readonly credentials: Credentials;
  /** Secret of a token of the owner. */
  readonly token: string;
  readonly violations: string[];
  /** Number of events by name, for the report. */
  readonly counts: Map<string, number>;
  /** True if the store is on a disk that can be filled. */
  readonly hasDisk: boolean;
  /** Messages that a flood sends to one session at once. */
  readonly floodMessages: number;
  pick<T>(list: readonly T[]): T;
  count(name: string, by?: number): void;
  /** URL of a proxy, of any of the two servers. */
  url(): string;
  /** A transport to any of the two servers. */
  transport(kind: Kind): Transport;
  /** Leaves no space on the disk until the returned function is called. */
  fillDisk(): Promise<() => void>;
  /** Locks the store as a program would that writes slowly, until the returned function is called. */
  lockStore(): Promise<() => void>;
  /** Keys noted by the tool, in order. */
  readNotes(): readonly string[];
  close(): Promise<void>;
}

export async function openWorld(seed: number, floodMessages: number): Promise<ChaosWorld> {
  const folder = mkdtempSync(join(tmpdir(), "loom-chaos-"));
  const disk = join(folder, "disk");
  mkdirSync(disk);
  const hasDisk = mountDisk(disk);
  const random = createRandom(seed);
  const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T;
  const store = join(disk, "loom.db");
  const notes = join(folder, "notes.txt");
  const credentialsFile = join(folder, "credentials.db");
  writeFileSync(notes, "");
  const credentials = openCredentials(credentialsFile);
  const token = (await credentials.createToken({ name: "all", owner: OWNER })).secret;
  const violations: string[] = [];
  const createServer = async (): Promise<ChaosServer> => {
    const port = await findPort(random);
    const proxy = await startFaultProxy(`http://127.0.0.1:${port}`, () => undefined);
    const args = [store, String(port), credentialsFile, notes, `127.0.0.1:${proxy.port}`];
    const server = new RestartedServer("../chaos/chaos-child.ts", args, (error) =>
      violations.push(`a server ended by itself: ${String(error)}`),
    );
    return Object.assign(server, { proxy });
  };
  const servers = [await createServer(), await createServer()] as const;
  await servers[0].start();
  await servers[1].start();
  const log = await openSqliteLog(store);
  const transports = servers.map(({ proxy }) => ({
    sse: createTransport("sse", proxy.url, token, TIMEOUT_MS),
    ndjson: createTransport("ndjson", proxy.url, token, TIMEOUT_MS),
    socket: createTransport("socket", proxy.url, token, TIMEOUT_MS),
  }));
  const counts = new Map<string, number>();
  return {
    random,
    servers,
    log,
    credentials,
    token,
    violations,
    counts,
    hasDisk,
    floodMessages,
    pick,
    count: (name, by = 1) => void counts.set(name, (counts.get(name) ?? 0) + by),
    url: () => pick(servers).proxy.url,
    transport: (kind) => pick(transports)[kind],
    async fillDisk() {
      const filler = join(disk, "filler");
      try {
        await writeFile(filler, Buffer.alloc(statfsSync(disk).bavail * statfsSync(disk).bsize + 1));
      } catch {
        // It is full now.
      }
      return () => rmSync(filler, { force: true });
    },
    async lockStore() {
      // The proxies live in this process, so it must not block while it waits for the lock.
      const database = new DatabaseSync(store, { timeout: 0 });
      for (let isLocked = false; !isLocked; await setTimeout(5))
        try {
          database.exec("BEGIN IMMEDIATE");
          isLocked = true;
        } catch (error) {
          if (!/locked|busy/i.test(String(error))) throw error;
        }
      return () => {
        database.exec("ROLLBACK");
        database.close();
      };
    },
    readNotes: () => readFileSync(notes, "utf8").split("\n").filter(Boolean),
    async close() {
      for (const transport of transports.flatMap(Object.values)) (transport as Transport).close();
      for (const server of servers) {
        server.signal("SIGKILL");
        await server.child.ended;
        await server.proxy.close();
      }
      await log.close();
      await credentials.close();
      if (hasDisk) execFileSync("umount", ["-l", disk]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Mounts a disk that can be filled. Only root on Linux can. */
function mountDisk(path: string): boolean {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${DISK_BYTES}`, "tmpfs", path], { stdio: "pipe" });
    return true;
  } catch {
    return false;
  }
}
