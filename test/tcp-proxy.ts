/**
 * A TCP proxy for tests of lost connections: it can refuse, cut, delay, and drop an answer after a request with a given
 * text.
 */
import { createConnection, createServer, type Server, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

export interface TcpProxy {
  readonly port: number;
  /** Cuts all connections and refuses new ones until it is called with true. */
  setUp(isUp: boolean): void;
  /** Delays what is sent from now on, in both directions, in milliseconds. */
  setDelay(ms: number): void;
  /** Cuts the connection of the next request that contains `text`, when its answer arrives, and calls `onCut`. */
  cutAnswerOf(text: string, onCut?: () => void): void;
  close(): Promise<void>;
}

export async function startTcpProxy(target: number): Promise<TcpProxy> {
  const pairs = new Set<readonly [Socket, Socket]>();
  let isUp = true;
  let delayMs = 0;
  let cut: { readonly text: string; readonly onCut: (() => void) | undefined } | undefined;
  const server: Server = createServer((client) => {
    if (!isUp) {
      client.destroy();
      return;
    }
    const upstream = createConnection(target, "127.0.0.1");
    const pair = [client, upstream] as const;
    pairs.add(pair);
    const end = (): void => {
      pairs.delete(pair);
      client.destroy();
      upstream.destroy();
    };
    const later = { up: createLane(() => delayMs), down: createLane(() => delayMs) };
    let pending: typeof cut;
    client.on("data", (data) => {
      if (cut !== undefined && data.includes(cut.text)) {
        pending = cut;
        cut = undefined;
      }
      later.up(() => upstream.write(data));
    });
    upstream.on("data", (data) => {
      if (pending === undefined) later.down(() => client.write(data));
      else {
        pending.onCut?.();
        end();
      }
    });
    for (const socket of pair) socket.on("error", end).on("close", end);
  });
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const setUp = (next: boolean): void => {
    isUp = next;
    if (!next) for (const pair of pairs) for (const socket of pair) socket.destroy();
  };
  return {
    port: (server.address() as { port: number }).port,
    setUp,
    setDelay: (ms) => (delayMs = ms),
    cutAnswerOf: (text, onCut) => (cut = { text, onCut }),
    async close() {
      setUp(false);
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Returns a function that calls others after the delay, in order, also if the delay changes. */
function createLane(delayMs: () => number): (write: () => void) => void {
  let waiting = 0;
  let last = Promise.resolve();
  return (write) => {
    const ms = delayMs();
    if (ms === 0 && waiting === 0) {
      write();
      return;
    }
    waiting++;
    const due = performance.now() + ms;
    last = last.then(async () => {
      await pause(Math.max(0, due - performance.now()));
      waiting--;
      write();
    });
  };
}
