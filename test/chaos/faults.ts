/** The faults of the chaos tests. Each lasts a while and then undoes itself. */
import { setTimeout } from "node:timers/promises";
import type { ChaosServer, ChaosWorld } from "./chaos-world.ts";
import { checkRuns, retry } from "./conversation.ts";
import { OWNER } from "./chaos-world.ts";

export interface Fault {
  /** How often it is chosen, relative to the others. */
  readonly weight: number;
  /** Rejects if something was observed that must not happen. */
  run(world: ChaosWorld): Promise<void>;
}

/** Documented maximum after which the connections of a revoked token are closed, and some time for faults. */
const MAX_REVOKED_MS = 120_000;

export const FAULTS: { readonly [name: string]: Fault } = {
  "kill -9": {
    weight: 4,
    // Only the first server: the second one lives through all faults, so that its memory can be measured.
    async run({ servers: [server], random }) {
      server.signal("SIGKILL");
      await server.child.ended;
      await setTimeout(random(1500));
      await server.start();
      // On a busy machine, a server that is killed again at once would never answer.
      await setTimeout(2000);
    },
  },
  "stopped and continued process": {
    weight: 3,
    async run({ servers, pick, random }) {
      const server = pick(servers);
      server.signal("SIGSTOP");
      // Sometimes longer than a lease.
      await setTimeout(random(4) === 0 ? 5000 : random(1000));
      server.signal("SIGCONT");
    },
  },
  "full disk": {
    weight: 2,
    async run({ hasDisk, fillDisk, random }) {
      if (!hasDisk) return;
      const empty = await fillDisk();
      await setTimeout(200 + random(2000));
      empty();
    },
  },
  "slow store": {
    weight: 2,
    async run({ lockStore, random }) {
      const unlock = await lockStore();
      await setTimeout(200 + random(2000));
      unlock();
    },
  },
  "clock jump": {
    weight: 2,
    async run({ servers, pick, random }) {
      const server = pick(servers);
      const jump = (random(2) === 0 ? -1 : 1) * random(600_000);
      const { child } = server;
      server.tell(`clock ${jump}`);
      await setTimeout(random(3000));
      // A process that was started meanwhile has the right time.
      if (server.child === child) server.tell(`clock ${-jump}`);
    },
  },
  "cut connections": {
    weight: 4,
    async run({ servers, pick }) {
      pick(servers).proxy.cut(pick(["end", "reset"]));
    },
  },
  "bad network": {
    weight: 3,
    async run({ servers, pick, random }) {
      const { proxy } = pick(servers);
      proxy.setPlan(() => ({
        ...(random(2) === 0 ? {} : { breach: { bytes: 1 + random(4000), how: pick(["end", "reset", "stall"]) } }),
        ...(random(3) === 0 ? { delayMs: random(20) } : {}),
        ...(random(4) === 0 ? { dribble: random(400) } : {}),
      }));
      await setTimeout(500 + random(2000));
      proxy.heal();
    },
  },
  "flood of messages": { weight: 2, run: floodMessages },
  "flood of bad requests": { weight: 2, run: sendBadRequests },
  "revoked token": { weight: 2, run: revokeToken },
};

let serial = 0;

/** Sends more messages than a session queues. A message that was refused is sent again until it is accepted. */
async function floodMessages(world: ChaosWorld): Promise<void> {
  const { log, random } = world;
  const session = `flood-${++serial}`;
  const keys = Array.from({ length: world.floodMessages }, (_, index) => `m-${session}-${index}`);
  const late = AbortSignal.timeout(600_000);
  await Promise.all(
    keys.map(async (key) => {
      while (!late.aborted) {
        const status = await post(world, `/v1/sessions/${session}/runs`, JSON.stringify({ message: key }), key);
        if (status === 200 || status === 202) return world.count("accepted messages");
        world.count(`flood answered ${status}`);
        await setTimeout(300 + random(500));
      }
      throw new Error(`${key} was never accepted`);
    }),
  );
  await checkRuns(world, session, keys);
  await retry(() => log.deleteSession(session));
}

async function sendBadRequests(world: ChaosWorld): Promise<void> {
  const { random, pick } = world;
  const bodies = ["", "{", "[]", '{"message":1}', "\u0000".repeat(1000), `{"message":"${"x".repeat(200_000)}"`];
  const paths = ["/v1/sessions/none/runs", "/api/chat", "/v1/runs", "/v1/sessions/none/cancel"];
  const statuses = await Promise.all(
    Array.from({ length: 50 + random(100) }, () => post(world, pick(paths), pick(bodies), undefined)),
  );
  const bad = statuses.find((status) => status !== undefined && (status < 400 || status === 500));
  if (bad !== undefined) throw new Error(`a bad request was answered with ${bad}`);
}

/** Opens a stream with a token, revokes the token, and checks that the stream ends and the token is refused. */
async function revokeToken(world: ChaosWorld): Promise<void> {
  const { credentials, log } = world;
  const session = `revoked-${++serial}`;
  await retry(() => log.createSession(session, { owner: OWNER }));
  const { secret, info } = await credentials.createToken({ name: session, owner: OWNER });
  const open = (server: ChaosServer): Promise<Response | undefined> =>
    fetch(`${server.proxy.url}/v1/sessions/${session}/events?follow=true`, {
      headers: { authorization: `Bearer ${secret}`, accept: "text/event-stream" },
      signal: AbortSignal.timeout(MAX_REVOKED_MS),
    }).catch(() => undefined);
  const server = world.pick(world.servers);
  const response = await open(server);
  await credentials.revokeToken(info.tokenId);
  const revokedAt = performance.now();
  await response?.text().catch(() => undefined);
  if (performance.now() - revokedAt > MAX_REVOKED_MS - 1000) throw new Error("a stream outlived its revoked token");
  for (const start = performance.now(); ; await setTimeout(200)) {
    const again = await open(server);
    await again?.body?.cancel();
    if (again?.status === 401) break;
    if (performance.now() - start > MAX_REVOKED_MS)
      throw new Error(`a revoked token is answered with ${again?.status}`);
  }
  await retry(() => log.deleteSession(session));
}

/** Returns the status; undefined if the response was lost. */
async function post(
  world: ChaosWorld,
  path: string,
  body: string,
  key: string | undefined,
): Promise<number | undefined> {
  try {
    const response = await fetch(`${world.url()}${path}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${world.token}`,
        "content-type": "application/json",
        accept: "application/json",
        ...(key === undefined ? {} : { "idempotency-key": key }),
      },
      body,
      signal: AbortSignal.timeout(5000),
    });
    await response.body?.cancel();
    return response.status;
  } catch {
    return undefined;
  }
}
