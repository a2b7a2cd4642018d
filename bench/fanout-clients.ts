/**
 * Readers of a server, in a separate process: raw connections that only count bytes. The message `{port, requests,
 * first}` opens one connection per request, in their order; the reply comes when each has received its first bytes. A
 * message with a number waits until each connection has received as many further bytes.
 */
import { once } from "node:events";
import { connect } from "node:net";

export interface Readers {
  readonly port: number;
  readonly requests: readonly string[];
  /** Sent after the first bytes of the response, in base64; empty for nothing. */
  readonly first: readonly string[];
}

/** How long all connections may take to receive the bytes of a round. */
const TIMEOUT_MS = 30_000;

const counts: number[] = [];

async function open({ port, requests, first }: Readers): Promise<void> {
  for (const [index, request] of requests.entries()) {
    const socket = connect(port, "127.0.0.1");
    socket.write(request);
    const [head] = (await once(socket, "data")) as [Buffer];
    if (!/^HTTP\/1.1 (?:200|101)/.test(head.toString("latin1"))) throw new Error(head.toString("latin1"));
    if (first[index]) {
      socket.write(Buffer.from(first[index], "base64"));
      await once(socket, "data");
    }
    counts[index] = 0;
    socket.on("data", (piece) => (counts[index] = (counts[index] ?? 0) + piece.length));
  }
}

async function receive(bytes: number): Promise<void> {
  const end = performance.now() + TIMEOUT_MS;
  while (counts.some((count) => count < bytes)) {
    if (performance.now() > end) throw new Error(`A reader received ${Math.min(...counts)} of ${bytes} bytes`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  counts.fill(0);
}

process.on("message", (message: Readers | number) => {
  (typeof message === "number" ? receive(message) : open(message)).then(
    () => process.send?.({}),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.on("disconnect", () => process.exit());
