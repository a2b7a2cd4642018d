/**
 * Readers of a server under measurement, in a process of their own: raw connections that count bytes and do nothing else.
 * Told `{port, request, first, readers}` it opens them, and answers when each has got its first bytes; asked `count`, it
 * says how many bytes the one who has fewest and the one who has most have got since.
 */
import { connect, type Socket } from "node:net";

interface Opening {
  readonly port: number;
  readonly request: string;
  /** Written after the first answer, in base64. */
  readonly first: string;
  readonly readers: number;
}

interface Counted {
  readonly socket: Socket;
  bytes: number;
}

let clients: Counted[] = [];

function openOne({ port, request, first }: Opening): Promise<Counted> {
  const { promise, resolve, reject } = Promise.withResolvers<Counted>();
  const socket = connect(port, "127.0.0.1");
  const client: Counted = { socket, bytes: 0 };
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

async function obey(message: Opening | "count" | "close"): Promise<void> {
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

process.on("message", (message: Opening) => void obey(message));
// Whoever measured is gone, and may have forgotten to say so.
process.on("disconnect", () => process.exit());
