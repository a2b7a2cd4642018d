/** Memory per idle connection, and delay and completeness with many live runs; see `server.ts`. */
import type { ChildProcess } from "node:child_process";
import { encodeTextFrame, startChild, sendAndWait, createUpgradeRequest } from "./child.ts";
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
  "control WebSocket": {
    request: (port) => createUpgradeRequest("/v1/ws", port),
    first: (n) => encodeTextFrame(JSON.stringify({ type: "subscribe", id: "1", session: `s${n}` })),
  },
  "lumine WebSocket": {
    request: (port, n) => createUpgradeRequest(`/agentOS/v1/ws_stream?session_id=s${n}&follow=1`, port),
  },
};

/** All connections share about 100 sessions, and then (the most expensive case) each has a session. */
export async function measureIdle(isQuick: boolean): Promise<boolean> {
  let isReached = true;
  const count = isQuick ? 1000 : 2000;
  for (const [kind, { request, first }] of Object.entries(IDLE))
    for (const sessions of [1, count]) {
      const [server, clients] = [
        startChild("./load-server.ts", { flags: ["--expose-gc"] }),
        startChild("./load-clients.ts"),
      ];
      const { port } = await sendAndWait<{ port: number }>(server, { rate: 1, tokens: 0, sessions: sessions + 100 });
      const openMany = async (from: number, to: number): Promise<unknown> => {
        const all = Array.from({ length: to - from }, (_, index) => (from + index) % (sessions + 100));
        const message = { port, requests: all.map((n) => request(port, n)), first: all.map((n) => first?.(n) ?? "") };
        return sendAndWait(clients, message);
      };
      // Exclude what the first connections load and allocate once.
      await openMany(0, 100);
      await pause(1500);
      const before = await sendAndWait<Memory>(server, "memory");
      await openMany(100, 100 + count);
      await pause(1500);
      const after = await sendAndWait<Memory>(server, "memory");
      const held = (after.held - before.held) / count / 1024;
      const rss = (after.rss - before.rss) / count / 1024;
      const what = `memory per idle ${kind} connection, ${count} connections, ${sessions === 1 ? "about 100 sessions" : "a session each"}`;
      const detail = `heap and buffers; resident memory grew by ${rss.toFixed(1)} KB per connection`;
      isReached = report(what, `${held.toFixed(1)} KB`, "≤ 20 KB", held <= 20, detail) && isReached;
      for (const child of [clients, server]) child.disconnect();
    }
  return isReached;
}

interface LoadResult {
  readonly share: number;
  readonly ack: Spread;
  readonly delay: Spread;
  readonly isComplete: boolean;
  readonly counts: string;
}

async function runLoad(runs: number, rate: number, seconds: number, core?: number): Promise<LoadResult> {
  const tokens = rate * seconds;
  const server = startChild("./load-server.ts", core === undefined ? {} : { core });
  const clients = startChild("./load-clients.ts");
  const { port } = await sendAndWait<{ port: number }>(server, { rate, tokens, sessions: 0 });
  const body = JSON.stringify({ message: "Talk" });
  const requests = Array.from(
    { length: runs },
    (_, n) =>
      `POST /v1/sessions/s${n}/runs HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\naccept: text/event-stream\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  await sendAndWait(clients, { port, requests, first: [] });
  await pause(1000);
  server.send("go");
  await pause(seconds * 1000);
  // Measured while all runs are still live.
  const { share, ack } = await sendAndWait<{ share: number; ack: Spread }>(server, "report");
  const received = await waitForStreams(clients, runs);
  const { emitted } = await sendAndWait<{ emitted: number }>(server, "report");
  for (const child of [clients, server]) child.disconnect();
  const { least, most, ended, delay } = received;
  const isComplete = emitted === runs * tokens && least === tokens && most === tokens && ended === runs;
  const counts = `${emitted} tokens emitted, ${delay.count} received, ${ended} of ${runs} streams ended`;
  return { share, ack, delay, isComplete, counts };
}

interface ClientReport {
  readonly least: number;
  readonly most: number;
  readonly ended: number;
  readonly delay: Spread;
}

async function waitForStreams(clients: ChildProcess, runs: number): Promise<ClientReport> {
  for (let seconds = 0; ; seconds++) {
    const received = await sendAndWait<ClientReport>(clients, "report");
    if (received.ended === runs || seconds === 60) return received;
    await pause(1000);
  }
}

const ms = (us: number): string => `${(us / 1000).toFixed(1)} ms`;

/** Time from a token's emission to its reader, against the time until it is stored. */
export async function measureDelay(isQuick: boolean): Promise<boolean> {
  const { share, ack, delay, isComplete, counts } = await runLoad(200, 30, isQuick ? 5 : 20);
  const detail = `${ms(delay.median)} (p99 ${ms(delay.p99)}) to the reader, ${ms(ack.median)} (p99 ${ms(ack.p99)}) to the store; ${(share * 100).toFixed(0)} % of a core; ${counts}`;
  const ratio = delay.median / ack.median;
  const isNear = report(
    "delay of a token to its reader, compared with the store, 200 runs of 30 tokens/s",
    times(ratio),
    "≤ 2 ×",
    ratio <= 2,
    detail,
  );
  return isNear && isComplete;
}

/** Checks that no token is lost with 1,000 live runs on one core. */
export async function measureRuns(isQuick: boolean): Promise<boolean> {
  const seconds = isQuick ? 5 : 30;
  const { share, ack, delay, isComplete, counts } = await runLoad(1000, 10, seconds, 0);
  print(
    `      to the store ${ms(ack.median)} (p99 ${ms(ack.p99)}), to the reader ${ms(delay.median)} (p99 ${ms(delay.p99)})`,
  );
  const what = `1,000 live runs of 10 tokens/s for ${seconds} s on one core, one reader each`;
  return report(
    what,
    isComplete ? "no token lost" : "TOKENS LOST",
    "no token lost",
    isComplete,
    `${(share * 100).toFixed(0)} % of the core; ${counts}`,
  );
}
