/** Clients of a server in their own process, and what they send. */
import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";

export function startChild(file: string): ChildProcess {
  return fork(fileURLToPath(new URL(file, import.meta.url)), { execArgv: [] });
}

/** A masked WebSocket text frame, in base64. The mask is zero. */
export function encodeTextFrame(text: string): string {
  const head = [0x81, 0x80 | 126, text.length >> 8, text.length & 0xff, 0, 0, 0, 0];
  return Buffer.concat([Buffer.from(head), Buffer.from(text)]).toString("base64");
}

export function createUpgradeRequest(path: string, port: number): string {
  return (
    `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nconnection: upgrade\r\nupgrade: websocket\r\n` +
    "sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
  );
}
