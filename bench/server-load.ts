/** What a whole server holds for a connection that is silent, and how it stands with many live runs; see `server.ts`. */
import type { ChildProcess } from "node:child_process";
import { maskText, start, tell, upgradeTo } from "./child.ts";
import type { Spread } from "./marked-tokens.ts";
import { print, report, times } from "./measure.ts";

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

interface Memory {
  readonly held: number;
  readonly rss: number;
}

const IDLE: {
  readonly [name: string]: {
    readonly request: (port: number, n: number) => string;
    readonly first?: (n: number) => string;
  };
} = {
  SSE: {
    request: (port, n) =>
      `GET /v1/sessions/s${n}/events?follow=true HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\naccept: text/event-stream\r\n\r\n`,
  },
  "control socket": {
    request: (port) => upgradeTo("/v1/ws", port),
    first: (n) => maskText(JSON.stringify({ type: "subscribe", id: "1", session: `s${n}` })),
  },
  "lumine socket": { request: (port, n) => upgradeTo(`/agentOS/v1/ws_stream?session_id=s${n}&follow=1`, port) },
};

/** All on one session, and, which costs most, each on one of its own. */
export async function measureIdle(isQuick: boolean): Promise<boolean> {
  let isReached = true;
  const count = isQuick ? 1000 : 2000;
  for (const [kind, { request, first }] of Object.entries(IDLE))
    for (const sessions of [1, count]) {
      const [server, clients] = [start("./load-server.ts", { flags: ["--expose-gc"] }), start("./load-clients.ts")];
      const { port } = await tell<{ port: number }>(server, { rate: 1, tokens: 0, sessions: sessions + 100 });
      const openMany = async (from: number, to: number): Promise<unknown> => {
        const all = Array.from({ length: to - from }, (_, index) => (from + index) % (sessions + 100));
        const opening = { port, requests: all.map((n) => request(port, n)), first: all.map((n) => first?.(n) ?? "") };
        return tell(clients, opening);
      };
      // What the first ones bring with them is not theirs.
      await openMany(0, 100);
      await pause(1500);
      const before = await tell<Memory>(server, "memory");
      await openMany(100, 100 + count);
      await pause(1500);
      const after = await tell<Memory>(server, "memory");
      const held = (after.held - before.held) / count / 1024;
      const rss = (after.rss - before.rss) / count / 1024;
      const what = `memory of an idle ${kind}, ${count} on ${sessions === 1 ? "about 100 sessions" : "a session each"}`;
      const detail = `heap and buffers; the process grew by ${rss.toFixed(1)} KB`;
      isReached = report(what, `${held.toFixed(1)} KB`, "≤ 20 KB", held <= 20, detail) && isReached;
      for (const child of [clients, server]) child.disconnect();
    }
  return isReached;
}

interface Load {
  readonly share: number;
  readonly ack: Spread;
  readonly delay: Spread;
  readonly isComplete: boolean;
  readonly counts: string;
}

async function runLoad(runs: number, rate: number, seconds: number, core?: number): Promise<Load> {
  const tokens = rate * seconds;
  const server = start("./load-server.ts", core === undefined ? {} : { core });
  const clients = start("./load-clients.ts");
  const { port } = await tell<{ port: number }>(server, { rate, tokens, sessions: 0 });
  const body = JSON.stringify({ message: "Talk" });
  const requests = Array.from(
    { length: runs },
    (_, n) =>
      `POST /v1/sessions/s${n}/runs HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\naccept: text/event-stream\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  await tell(clients, { port, requests, first: [] });
  await pause(1000);
  server.send("go");
  await pause(seconds * 1000);
  // While the last ones are said, nothing has ended yet.
  const { share, ack } = await tell<{ share: number; ack: Spread }>(server, "report");
  const seen = await untilEnded(clients, runs);
  const { said } = await tell<{ said: number }>(server, "report");
  for (const child of [clients, server]) child.disconnect();
  const { least, most, ended, delay } = seen;
  const isComplete = said === runs * tokens && least === tokens && most === tokens && ended === runs;
  const counts = `${said} said, ${delay.count} received, ${ended} of ${runs} streams ended`;
  return { share, ack, delay, isComplete, counts };
}

interface Seen {
  readonly least: number;
  readonly most: number;
  readonly ended: number;
  readonly delay: Spread;
}

async function untilEnded(clients: ChildProcess, runs: number): Promise<Seen> {
  for (let seconds = 0; ; seconds++) {
    const seen = await tell<Seen>(clients, "report");
    if (seen.ended === runs || seconds === 60) return seen;
    await pause(1000);
  }
}

const ms = (us: number): string => `${(us / 1000).toFixed(1)} ms`;

/** How long a token takes to its reader, against how long until the store has it. */
export async function measureDelay(isQuick: boolean): Promise<boolean> {
  const { share, ack, delay, isComplete, counts } = await runLoad(200, 30, isQuick ? 5 : 20);
  const detail = `${ms(delay.median)} (p99 ${ms(delay.p99)}) against ${ms(ack.median)} (p99 ${ms(ack.p99)}) until it is stored; ${(share * 100).toFixed(0)} % of a core; ${counts}`;
  const ratio = delay.median / ack.median;
  const isNear = report("from said to read, 200 runs of 30 tokens/s", times(ratio), "≤ 2 ×", ratio <= 2, detail);
  return isNear && isComplete;
}

/** Nothing is lost, and the server keeps up. */
export async function measureRuns(isQuick: boolean): Promise<boolean> {
  const seconds = isQuick ? 5 : 30;
  const { share, ack, delay, isComplete, counts } = await runLoad(1000, 10, seconds, 0);
  print(
    `      said to stored ${ms(ack.median)} (p99 ${ms(ack.p99)}), said to read ${ms(delay.median)} (p99 ${ms(delay.p99)})`,
  );
  const what = `1,000 live runs of 10 tokens/s for ${seconds} s on one core, a reader each`;
  return report(
    what,
    isComplete ? "nothing lost" : "LOST",
    "nothing lost",
    isComplete,
    `${(share * 100).toFixed(0)} % of the core; ${counts}`,
  );
}
