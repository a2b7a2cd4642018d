/**
 * Clients of a server under measurement, in a separate process. A message opens one connection per request, 50 at a time.
 * The reply `first` comes when each has received the first bytes of its response, and the numbers of markers in each
 * response when all responses have ended.
 */
import { connect } from "node:net";

export interface ClientRequests {
  readonly port: number;
  readonly requests: readonly string[];
  /** Counted in each response. */
  readonly marker: string;
  /** Whether a response has no body yet, and is closed by the client. */
  readonly isIdle: boolean;
}

/** Each request opens a connection. `first` resolves with the first byte of the body, `ended` with the markers. */
function open({ port, marker, isIdle }: ClientRequests, request: string) {
  const first = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<number>();
  const socket = connect(port, "127.0.0.1");
  let text = "";
  socket.setEncoding("utf8");
  socket.write(request);
  socket.on("data", (piece: string) => {
    text += piece;
    const head = text.indexOf("\r\n\r\n");
    if (head < 0) return;
    if (!text.startsWith("HTTP/1.1 200")) first.reject(new Error(text));
    if (isIdle || text.length > head + 4) first.resolve();
    // The last chunk of the body. The server may keep the connection for another request.
    if (text.endsWith("\r\n0\r\n\r\n")) socket.destroy();
  });
  socket.on("error", first.reject);
  socket.on("close", () => ended.resolve(text.split(marker).length - 1));
  return { socket, first: first.promise, ended: ended.promise };
}

async function handleMessage(message: ClientRequests): Promise<void> {
  const clients: ReturnType<typeof open>[] = [];
  for (let n = 0; n < message.requests.length; n += 50) {
    const some = message.requests.slice(n, n + 50).map((request) => open(message, request));
    await Promise.all(some.map(({ first }) => first));
    clients.push(...some);
  }
  process.send?.("first");
  if (message.isIdle) for (const { socket } of clients) socket.destroy();
  process.send?.(await Promise.all(clients.map(({ ended }) => ended)));
}

process.on("message", (message: ClientRequests) => void handleMessage(message));
process.on("disconnect", () => process.exit());
