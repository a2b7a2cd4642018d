/**
 * Readers of a server under measurement, in a separate process: raw connections that only count bytes. The message
 * `{port, request, first, readers}` opens them; the reply comes when each has received its first bytes. The message
 * `count` returns the lowest and highest number of bytes a reader has received since.
 */
import { connect, type Socket } from "node:net";

interface ClientSettings {
  readonly port: number;
  readonly request: string;
  /** Sent after the first response bytes, in base64; empty for none. */
  readonly first: string;
  readonly readers: number;
}

interface Client {
  readonly socket: Socket;
  bytes: number;
}

let clients: Client[] = [];

function openOne({ port, request, first }: ClientSettings): Promise<Client> {
  const { promise, resolve, reject } = Promise.withResolvers<Client>();
  const socket = connect(port, "127.0.0.1");
  const client: Client = { socket, bytes: 0 };
  socket.on("error", reject);
  socket.write(request);
  socket.once("data", () => {
    if (first === "") return resolve(client);
    socket.write(Buffer.from(first, "base64"));
    socket.once("data", () => resolve(client));
  });
  socket.on("data", (piece) => (client.bytes += piece.length));
  return promise;
}

async function handleMessage(message: ClientSettings | "count" | "close"): Promise<void> {
  if (message === "close") {
    for (const { socket } of clients) socket.destroy();
    clients = [];
    process.send?.("closed");
  } else if (message === "count") {
    const counts = clients.map(({ bytes }) => bytes);
    process.send?.([counts.reduce((a, b) => Math.min(a, b)), counts.reduce((a, b) => Math.max(a, b))]);
  } else {
    for (let n = 0; n < message.readers; n += 50)
      clients.push(
        ...(await Promise.all(Array.from({ length: Math.min(50, message.readers - n) }, () => openOne(message)))),
      );
    for (const client of clients) client.bytes = 0;
    process.send?.("open");
  }
}

process.on("message", (message: ClientSettings) => void handleMessage(message));
// Exit when the parent process ends without sending `close`.
process.on("disconnect", () => process.exit());
