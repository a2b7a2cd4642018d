// Writes bytes to a connection unchanged and parses the first response.
import { connect } from "node:net";

export interface RawResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** Returns the first response and closes the connection. Returns status 0 if there is no response in time. */
export async function sendRaw(port: number, text: string | Buffer, timeoutMs = 2000): Promise<RawResponse> {
  const socket = connect(port, "127.0.0.1");
  const { promise, resolve } = Promise.withResolvers<void>();
  let got = "";
  socket.on("error", () => resolve());
  socket.on("close", () => resolve());
  socket.on("data", (piece) => {
    got += piece.toString("latin1");
    if (isWhole(got)) resolve();
  });
  const timer = setTimeout(resolve, timeoutMs);
  socket.write(text);
  await promise;
  clearTimeout(timer);
  socket.destroy();
  return parse(got);
}

function isWhole(text: string): boolean {
  const { status, headers, body } = parse(text);
  if (status === 0) return false;
  const length = headers.get("content-length");
  return length === null || Buffer.byteLength(body, "latin1") >= Number(length);
}

function parse(text: string): RawResponse {
  const end = text.indexOf("\r\n\r\n");
  if (end === -1) return { status: 0, headers: new Headers(), body: "" };
  const [first = "", ...lines] = text.slice(0, end).split("\r\n");
  const headers = new Headers();
  for (const line of lines) headers.append(line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim());
  return { status: Number(first.split(" ")[1]), headers, body: text.slice(end + 4) };
}

/** Formats a request line and headers. */
export function writeHead(line: string, headers: readonly (readonly [name: string, value: string])[]): string {
  return `${line}\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`;
}

export const UPGRADE = [
  ["connection", "upgrade"],
  ["upgrade", "websocket"],
  ["sec-websocket-version", "13"],
  ["sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="],
] as const;
