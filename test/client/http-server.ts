/** A request handler behind a real HTTP server whose connections a test can cut. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

export interface HttpServer {
  readonly url: string;
  /** Whether connections are accepted. */
  isReachable: boolean;
  /** Breaks every connection, as a network failure does. */
  cut(): void;
  close(): Promise<void>;
}

export async function startHttpServer(handle: (request: Request) => Promise<Response>): Promise<HttpServer> {
  const sockets = new Set<Socket>();
  const http = createServer((request, response) => {
    // An error in the handler must break the connection, so that it does not look like a normal end.
    answer(handle, request, response).catch(() => response.socket?.destroy());
  });
  http.on("connection", (socket) => {
    if (!server.isReachable) {
      socket.destroy();
      return;
    }
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const server: HttpServer = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    isReachable: true,
    cut() {
      for (const socket of sockets) socket.destroy();
    },
    async close() {
      server.cut();
      await new Promise((resolve) => http.close(resolve));
    },
  };
  return server;
}

async function answer(
  handle: (request: Request) => Promise<Response>,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  outgoing.on("close", () => gone.abort());
  const pieces: Buffer[] = [];
  for await (const piece of incoming) pieces.push(piece as Buffer);
  const headers = Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)]);
  const body = pieces.length === 0 ? {} : { body: new Uint8Array(Buffer.concat(pieces)) };
  const request = new Request(`http://${incoming.headers.host ?? "host"}${incoming.url ?? "/"}`, {
    method: incoming.method ?? "GET",
    headers,
    signal: gone.signal,
    ...body,
  });
  const response = await handle(request);
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.flushHeaders();
  const reader = response.body?.getReader();
  gone.signal.addEventListener("abort", () => void reader?.cancel().catch(() => undefined));
  for (;;) {
    const { done = true, value } = (await reader?.read()) ?? {};
    if (done || value === undefined) break;
    outgoing.write(value);
  }
  outgoing.end();
}
