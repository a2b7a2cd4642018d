/** The faults of several servers with one database. Each lasts a while and then undoes itself. */
import { setTimeout } from "node:timers/promises";
import { retry } from "../chaos/conversation.ts";
import { until } from "../server/kill-fixture.ts";
import { type Cluster, type ClusterServer, disturb } from "./cluster.ts";
import type { ClusterWorld } from "./run-cluster-chaos.ts";

/** Rejects if something was observed that must not happen. */
export type ClusterFault = (world: ClusterWorld) => Promise<void>;

const MAX_STOP_MS = 30_000;
const MAX_SESSIONS = 100;
const MAX_RESTARTS = 100;

/** Kills a process and starts it again. */
export async function killServer({ cluster, pick }: Pick<ClusterWorld, "cluster" | "pick">): Promise<void> {
  const up = cluster.servers.filter(({ isUp }) => isUp);
  if (up.length === 0) return;
  const server = pick(up);
  server.signal("SIGKILL");
  await server.child.ended;
  await server.start();
}

/** Stops the process that holds most sessions until another one has taken one of them over, and then continues it. */
export async function stopHolder({ cluster, count }: ClusterWorld): Promise<void> {
  const held = await listHeld(cluster);
  const [server, sessions] = [...held].toSorted(([, a], [, b]) => b.size - a.size)[0] ?? [];
  if (server === undefined || sessions === undefined) return;
  await disturb([server], async () => stopUntilTaken(cluster, server, sessions, count));
}

async function stopUntilTaken(
  cluster: Cluster,
  server: ClusterServer,
  sessions: ReadonlySet<string>,
  count: ClusterWorld["count"],
): Promise<void> {
  const { child } = server;
  child.process.kill("SIGSTOP");
  const isTaken = async (): Promise<boolean> => {
    for (const [other, others] of await listHeld(cluster))
      if (other !== server && [...others].some((session) => sessions.has(session))) return true;
    return server.child !== child;
  };
  try {
    await until(isTaken, "another process takes a session over", MAX_STOP_MS);
    if (server.child === child) count("processes stopped past their lease");
  } finally {
    child.process.kill("SIGCONT");
  }
}

/** Cuts the connections between one process and the database, and refuses new ones. */
export async function cutLink({ cluster, pick, random }: ClusterWorld): Promise<void> {
  const server = pick(cluster.servers);
  await disturb([server], async () => {
    server.link.setUp(false);
    // Sometimes longer than a lease.
    await setTimeout(200 + random(cluster.ttlMs * 2));
    server.link.setUp(true);
  });
}

/** Delays everything between one process and the database. */
export async function delayLink({ cluster, pick, random }: ClusterWorld): Promise<void> {
  const server = pick(cluster.servers);
  await disturb([server], async () => {
    server.link.setDelay(20 + random(300));
    await setTimeout(500 + random(cluster.ttlMs * 2));
    server.link.setDelay(0);
  });
}

/** Kills the database and starts it again. */
export async function killDatabase({ cluster: { database, servers }, random }: ClusterWorld): Promise<void> {
  await disturb(servers, async () => {
    await database.kill();
    await setTimeout(random(1000));
    for (let tries = 1; ; tries++)
      try {
        return await database.restart();
      } catch (error) {
        // A process of the killed server still finishes its statement.
        if (tries > MAX_RESTARTS) throw error;
        await setTimeout(50);
      }
  });
}

/** The sessions that each server holds. */
async function listHeld({ log, servers }: Cluster): Promise<Map<ClusterServer, Set<string>>> {
  const held = new Map<ClusterServer, Set<string>>();
  for (const { sessionId, holder } of await retry(() => log.listSessions({ limit: MAX_SESSIONS }))) {
    const pid = Number(holder?.split("/")[1]);
    const server = servers.find(({ child }) => child.process.pid === pid);
    if (server === undefined) continue;
    const sessions = held.get(server) ?? new Set();
    held.set(server, sessions.add(sessionId));
  }
  return held;
}
