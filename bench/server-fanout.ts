/**
 * What it costs a server to send one live session to all who look at it: deliveries (an event to a reader) per second of
 * its processor time, ours against what one would write otherwise. Server and readers are processes of their own, and the
 * contestants take turns in one run; see `fanout-server.ts`.
 *
 * Ours is the whole path: append, commit, read, encode, write. The others only write, so goals are held against ours with
 * its log in memory, as theirs is; the same with every event committed to a disk first, as a server has it, stands beside
 * it: that costs something for each time, however many read.
 */
import { maskText, start, tell, upgradeTo } from "./child.ts";
import type { Way } from "./fanout-server.ts";
import { median, print, report, times } from "./measure.ts";

/** Times before the first turn that counts: a server that has been up for a while has compiled what it does. */
const WARM_UP_TICKS = 400;
/** Of one turn: calls to the system cost most, and there is one for each reader each time. */
const WRITES = 10_000;
const READERS = [100, 1000];
const SSE_REQUEST = "GET / HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\n\r\n";
interface Arena {
  /** Processor time of one delivery, in microseconds. */
  turn(events: number): Promise<number>;
  close(): Promise<void>;
}

async function openArena(way: Way, readers: number): Promise<Arena> {
  const [server, clients] = [start("./fanout-server.ts"), start("./fanout-clients.ts")];
  const { port } = await tell<{ port: number }>(server, { way });
  const isSocket = way === "ours-ws" || way === "ours-ws-stored" || way === "ws.send";
  const first = isSocket ? maskText(JSON.stringify({ type: "subscribe", id: "1", session: "s" })) : "";
  await tell(clients, { port, request: isSocket ? upgradeTo("/v1/ws", port) : SSE_REQUEST, first, readers });
  await tell(server, { ticks: Math.min(WARM_UP_TICKS, (WRITES * 4) / readers), events: 8, pauseMs: 1 });
  return {
    async turn(events) {
      const ticks = Math.max(5, Math.round(WRITES / readers));
      // Whoever came before has left nothing of it in the processor's caches.
      await tell(server, { ticks: Math.ceil(ticks / 5), events, pauseMs: 1 });
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

interface Contest {
  readonly what: string;
  readonly ours: Way;
  /** The same with a store on disk. */
  readonly stored: Way;
  readonly peers: readonly { readonly way: Way; readonly goals: { readonly [events: number]: number } }[];
}

const CONTESTS: readonly Contest[] = [
  {
    what: "SSE",
    ours: "ours-sse",
    stored: "ours-sse-stored",
    // One event at a time is one call to the system for each reader, whoever makes it: there is no goal for it.
    peers: [
      { way: "streamSSE", goals: { 8: 8 } },
      { way: "res.write", goals: { 8: 2 } },
    ],
  },
  {
    what: "WebSocket",
    ours: "ours-ws",
    stored: "ours-ws-stored",
    peers: [{ way: "ws.send", goals: { 8: 4, 1: 1.3 } }],
  },
];

async function compareWays({ what, ours, stored, peers }: Contest, rounds: number): Promise<boolean> {
  let isReached = true;
  for (const readers of READERS) {
    const arenas = new Map<Way, Arena>();
    for (const way of [ours, ...peers.map((peer) => peer.way), stored]) arenas.set(way, await openArena(way, readers));
    for (const events of [8, 1]) {
      const costs = new Map<Way, number[]>([...arenas.keys()].map((way) => [way, []]));
      for (let round = -1; round < rounds; round++)
        for (const [way, arena] of arenas) {
          const cost = await arena.turn(events);
          // The first one is for warming up.
          if (round >= 0) costs.get(way)?.push(cost);
        }
      const costOf = (way: Way): number => median(costs.get(way) ?? []);
      const ratioOf = (way: Way, own: Way): number =>
        median((costs.get(way) ?? []).map((cost, index) => cost / (costs.get(own)?.[index] ?? Number.NaN)));
      for (const { way, goals } of peers) {
        const name = `${what}, ${readers} readers, ${events} event${events === 1 ? "" : "s"} at a time, against ${way}`;
        const detail = `${costOf(ours).toFixed(2)} µs against ${costOf(way).toFixed(2)} µs a delivery; stored first: ${times(ratioOf(way, stored))}, ${costOf(stored).toFixed(2)} µs`;
        const [ratio, goal] = [ratioOf(way, ours), goals[events]];
        if (goal === undefined) print(`      ${name}: ${times(ratio)} (no goal)  ${detail}`);
        else isReached = report(name, times(ratio), `${goal} ×`, ratio >= goal, detail) && isReached;
      }
    }
    for (const arena of arenas.values()) await arena.close();
  }
  return isReached;
}

export async function measureFanout(isQuick: boolean): Promise<boolean> {
  const rounds = isQuick ? 5 : 15;
  print(`one session to many readers, ${rounds} turns each, processor time of the server`);
  let isReached = true;
  for (const contest of CONTESTS) isReached = (await compareWays(contest, rounds)) && isReached;
  return isReached;
}
