/**
 * Processor time of a server that sends one live session to many readers, per delivery (one event to one reader), ours
 * against common implementations. Server and readers are separate processes, and the implementations take turns; see
 * `fanout-server.ts`.
 *
 * Ours does all the work: append, commit, read, encode, write. The others only write, so the goals apply to ours with
 * its log in memory. The detail of each line shows ours with a store on disk: a commit costs the same for any number of
 * readers.
 */
import { encodeTextFrame, startChild, sendAndWait, createUpgradeRequest } from "./child.ts";
import type { Implementation } from "./fanout-server.ts";
import { median, print, report, times } from "./measure.ts";

/** Ticks before the first measured turn, so that the server's code is compiled. */
const WARM_UP_TICKS = 400;
/** Writes per turn. System calls cost most, and each tick makes one per reader. */
const WRITES = 10_000;
const READERS = [100, 1000];
const SSE_REQUEST = "GET / HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\n\r\n";
interface Setup {
  /** Returns the processor time per delivery, in microseconds. */
  turn(events: number): Promise<number>;
  close(): Promise<void>;
}

async function openSetup(implementation: Implementation, readers: number): Promise<Setup> {
  const [server, clients] = [startChild("./fanout-server.ts"), startChild("./fanout-clients.ts")];
  const { port } = await sendAndWait<{ port: number }>(server, { implementation });
  const isSocket = implementation === "ours-ws" || implementation === "ours-ws-stored" || implementation === "ws.send";
  const first = isSocket ? encodeTextFrame(JSON.stringify({ type: "subscribe", id: "1", session: "s" })) : "";
  await sendAndWait(clients, {
    port,
    request: isSocket ? createUpgradeRequest("/v1/ws", port) : SSE_REQUEST,
    first,
    readers,
  });
  await sendAndWait(server, { ticks: Math.min(WARM_UP_TICKS, (WRITES * 4) / readers), events: 8, pauseMs: 1 });
  return {
    async turn(events) {
      const ticks = Math.max(5, Math.round(WRITES / readers));
      // Fills the processor's caches, which the previous turn used for another process.
      await sendAndWait(server, { ticks: Math.ceil(ticks / 5), events, pauseMs: 1 });
      const { user, system } = await sendAndWait<{ user: number; system: number }>(server, {
        ticks,
        events,
        pauseMs: 1,
      });
      return (user + system) / (ticks * events * readers);
    },
    async close() {
      await new Promise((resolve) => setTimeout(resolve, 200));
      const [least, most] = await sendAndWait<[number, number]>(clients, "count");
      // Chunk boundaries of the body may differ between readers.
      if (least === 0 || most > least * 1.01)
        throw new Error(`${implementation}: one reader received ${least} bytes, another ${most}`);
      await sendAndWait(clients, "close");
      await sendAndWait(server, "close");
      for (const child of [server, clients]) child.kill();
    },
  };
}

interface FanoutComparison {
  readonly what: string;
  readonly ours: Implementation;
  /** Ours with a store on disk. */
  readonly stored: Implementation;
  readonly peers: readonly {
    readonly implementation: Implementation;
    readonly goals: { readonly [events: number]: number };
  }[];
}

const COMPARISONS: readonly FanoutComparison[] = [
  {
    what: "SSE",
    ours: "ours-sse",
    stored: "ours-sse-stored",
    // With one event at a time, every implementation makes one system call per reader, so there is no goal.
    peers: [
      { implementation: "streamSSE", goals: { 8: 8 } },
      { implementation: "res.write", goals: { 8: 2 } },
    ],
  },
  {
    what: "WebSocket",
    ours: "ours-ws",
    stored: "ours-ws-stored",
    peers: [{ implementation: "ws.send", goals: { 8: 4, 1: 1.3 } }],
  },
];

async function compareImplementations(
  { what, ours, stored, peers }: FanoutComparison,
  rounds: number,
): Promise<boolean> {
  let isReached = true;
  for (const readers of READERS) {
    const setups = new Map<Implementation, Setup>();
    for (const implementation of [ours, ...peers.map((peer) => peer.implementation), stored])
      setups.set(implementation, await openSetup(implementation, readers));
    for (const events of [8, 1]) {
      const costs = new Map<Implementation, number[]>([...setups.keys()].map((implementation) => [implementation, []]));
      for (let round = -1; round < rounds; round++)
        for (const [implementation, setup] of setups) {
          const cost = await setup.turn(events);
          // The first round is a warm-up.
          if (round >= 0) costs.get(implementation)?.push(cost);
        }
      const costOf = (implementation: Implementation): number => median(costs.get(implementation) ?? []);
      const ratioOf = (implementation: Implementation, own: Implementation): number =>
        median((costs.get(implementation) ?? []).map((cost, index) => cost / (costs.get(own)?.[index] ?? Number.NaN)));
      for (const { implementation, goals } of peers) {
        const name = `${what}, ${readers} readers, ${events} event${events === 1 ? "" : "s"} at a time, against ${implementation}`;
        const detail = `${costOf(ours).toFixed(2)} µs against ${costOf(implementation).toFixed(2)} µs per delivery; with a store on disk: ${times(ratioOf(implementation, stored))}, ${costOf(stored).toFixed(2)} µs`;
        const [ratio, goal] = [ratioOf(implementation, ours), goals[events]];
        if (goal === undefined) print(`      ${name}: ${times(ratio)} (no goal)  ${detail}`);
        else isReached = report(name, times(ratio), `≥ ${goal} ×`, ratio >= goal, detail) && isReached;
      }
    }
    for (const setup of setups.values()) await setup.close();
  }
  return isReached;
}

export async function measureFanout(isQuick: boolean): Promise<boolean> {
  const rounds = isQuick ? 5 : 15;
  print(`Fan-out of one session, processor time of the server per delivery, ${rounds} rounds`);
  let isReached = true;
  for (const comparison of COMPARISONS) isReached = (await compareImplementations(comparison, rounds)) && isReached;
  return isReached;
}
