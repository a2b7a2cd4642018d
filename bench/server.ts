/**
 * What it costs a server to send one live session to all who look at it: deliveries (an event to a reader) per second of
 * its processor time, ours against what one would write otherwise. Server and readers are processes of their own, and the
 * contestants take turns in one run; see `fanout-server.ts`.
 *
 * `--quick` takes fewer turns; with `--durable` our events are committed to a disk before they are sent.
 */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Way } from "./fanout-server.ts";
import { median, print, report, times } from "./measure.ts";

const QUICK = process.argv.includes("--quick");
const ROUNDS = QUICK ? 3 : 9;
const WARM_UP = 2;
/** Of one turn. */
const DELIVERIES = QUICK ? 40_000 : 80_000;
const SSE_REQUEST = "GET / HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\n\r\n";
const WS_REQUEST =
  "GET /v1/ws HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n" +
  "sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";

const READERS = [100, 1000];

let reached = true;

function start(file: string): ChildProcess {
  return fork(fileURLToPath(new URL(file, import.meta.url)), process.argv.slice(2), {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
}

async function tell<T>(child: ChildProcess, message: object | string): Promise<T> {
  child.send(message);
  const [answer] = (await once(child, "message")) as [T];
  return answer;
}

/** A text message of a client, masked with nothing. */
function maskText(text: string): string {
  const head = [0x81, 0x80 | 126, text.length >> 8, text.length & 0xff, 0, 0, 0, 0];
  return Buffer.concat([Buffer.from(head), Buffer.from(text)]).toString("base64");
}

interface Arena {
  /** Processor time of one delivery, in microseconds. */
  turn(events: number): Promise<number>;
  close(): Promise<void>;
}

async function openArena(way: Way, readers: number): Promise<Arena> {
  const [server, clients] = [start("./fanout-server.ts"), start("./fanout-clients.ts")];
  const { port } = await tell<{ port: number }>(server, { way });
  const isSocket = way === "ours-ws" || way === "ws.send";
  const first = isSocket ? maskText(JSON.stringify({ type: "subscribe", id: "1", session: "s" })) : "";
  await tell(clients, { port, request: isSocket ? WS_REQUEST : SSE_REQUEST, first, readers });
  return {
    async turn(events) {
      const ticks = Math.max(5, Math.round(DELIVERIES / readers / events));
      const { user, system } = await tell<{ user: number; system: number }>(server, { ticks, events, pauseMs: 1 });
      return (user + system) / (ticks * events * readers);
    },
    async close() {
      await new Promise((resolve) => setTimeout(resolve, 200));
      const [least, most] = await tell<[number, number]>(clients, "count");
      // How a body is cut into chunks may differ from one to the other.
      if (least === 0 || most > least * 1.01) throw new Error(`${way}: some got ${least} bytes, others ${most}`);
      await tell(clients, "close");
      await tell(server, "close");
      for (const child of [server, clients]) child.kill();
    },
  };
}

async function compareWays(
  what: string,
  ours: Way,
  peers: readonly { readonly way: Way; readonly goals: { readonly [events: number]: number } }[],
): Promise<void> {
  for (const readers of READERS) {
    const arenas = new Map<Way, Arena>();
    for (const way of [ours, ...peers.map((peer) => peer.way)]) arenas.set(way, await openArena(way, readers));
    for (const events of [8, 1]) {
      const costs = new Map<Way, number[]>([...arenas.keys()].map((way) => [way, []]));
      for (let round = -WARM_UP; round < ROUNDS; round++)
        for (const [way, arena] of arenas) {
          const cost = await arena.turn(events);
          // The first ones are for warming up.
          if (round >= 0) costs.get(way)?.push(cost);
        }
      const own = costs.get(ours) ?? [];
      for (const { way, goals } of peers) {
        const theirs = costs.get(way) ?? [];
        const ratio = median(theirs.map((cost, index) => cost / (own[index] ?? Number.NaN)));
        const goal = goals[events] ?? 0;
        const detail = `${median(own).toFixed(2)} µs against ${median(theirs).toFixed(2)} µs of processor time a delivery`;
        const name = `${what}, ${readers} readers, ${events} event${events === 1 ? "" : "s"} at a time, against ${way}`;
        reached = report(name, times(ratio), `${goal} ×`, ratio >= goal, detail) && reached;
      }
    }
    for (const arena of arenas.values()) await arena.close();
  }
}

print(`one session to many readers, ${ROUNDS} turns each`);
await compareWays("SSE", "ours-sse", [
  // One event at a time is one system call for each reader, whoever makes it: there it is enough not to be behind.
  { way: "streamSSE", goals: { 8: 8, 1: 1 } },
  { way: "res.write", goals: { 8: 2, 1: 1 } },
]);
await compareWays("WebSocket", "ours-ws", [{ way: "ws.send", goals: { 8: 4, 1: 1.3 } }]);
process.exitCode = reached ? 0 : 1;
