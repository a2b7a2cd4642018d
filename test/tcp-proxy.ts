/** A TCP proxy for tests of lost connections: it can refuse, cut, and drop an answer after a request with a given text. */
import { createConnection, createServer, type Server, type Socket } from "node:net";

export interface TcpProxy {
  readonly port: number;
  /** Cuts all connections and refuses new ones until it is called with true. */
  setUp(isUp: boolean): void;
  /** Cuts the connection of the next request that contains `text`, when its answer arrives, and calls `onCut`. */
  cutAnswerOf(text: string, onCut?: () => void): void;
  close(): Promise<void>;
}

export async function startTcpProxy(target: number): Promise<TcpProxy> {
  const pairs = new Set<readonly [Socket, Socket]>();
  let isUp = true;
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
    let pending: typeof cut;
    client.on("data", (data) => {
      if (cut !== undefined && data.includes(cut.text)) {
        pending = cut;
        cut = undefined;
      }
      upstream.write(data);
    });
    upstream.on("data", (data) => {
      if (pending === undefined) client.write(data);
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
    cutAnswerOf: (text, onCut) => (cut = { text, onCut }),
    async close() {
      setUp(false);
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
