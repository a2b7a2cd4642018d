/**
 * Clients of a server under load, in a separate process. The message `{port, requests, first}` opens one connection per
 * request; the reply comes when each has received its first bytes. The message `report` returns the lowest and highest
 * token count of a client, the delays of the tokens, and the number of streams that have ended.
 */
import { connect } from "node:net";
import { findMarks, nowUs, spreadOf } from "./marked-tokens.ts";

interface ClientSettings {
  readonly port: number;
  readonly requests: readonly string[];
  /** Sent after the first response bytes, in base64. */
  readonly first: readonly string[];
}

/** The last chunk of a chunked body. */
const BODY_END = "\r\n0\r\n\r\n";

interface Client {
  tokens: number;
  isEnded: boolean;
}

const clients: Client[] = [];
const delays: number[] = [];

function openOne(port: number, request: string, first: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect(port, "127.0.0.1");
  const client: Client = { tokens: 0, isEnded: false };
  let isOpen = false;
  let rest = "";
  clients.push(client);
  socket.on("error", reject);
  socket.write(request);
  socket.on("data", (piece) => {
    const at = nowUs();
    if (!isOpen) {
      isOpen = true;
      const head = piece.toString("latin1");
      if (!/^HTTP\/1.1 (?:200|101)/.test(head)) reject(new Error(head));
      if (first) socket.write(Buffer.from(first, "base64"));
      resolve();
    }
    const text = rest + piece.toString("latin1");
    const end = text.lastIndexOf("\n\n") + 1;
    for (const frame of text.slice(0, end).split("\n\n"))
      for (const since of findMarks(frame)) {
        client.tokens++;
        delays.push(at - since);
      }
    rest = text.slice(end);
    if (text.endsWith(BODY_END)) client.isEnded = true;
  });
  return promise;
}

async function open({ port, requests, first }: ClientSettings): Promise<void> {
  for (let n = 0; n < requests.length; n += 50)
    await Promise.all(
      requests.slice(n, n + 50).map((request, index) => openOne(port, request, first[n + index] ?? "")),
    );
  process.send?.("open");
}

function report(): void {
  const counts = clients.map(({ tokens }) => tokens);
  process.send?.({
    least: counts.reduce((a, b) => Math.min(a, b)),
    most: counts.reduce((a, b) => Math.max(a, b)),
    ended: clients.filter(({ isEnded }) => isEnded).length,
    delay: spreadOf(delays),
  });
}

process.on("message", (message: ClientSettings | "report") => {
  if (message === "report") report();
  else void open(message);
});
process.on("disconnect", () => process.exit());
