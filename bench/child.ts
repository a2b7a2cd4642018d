/** Starts the child processes of a benchmark and exchanges messages with them. */
import { type ChildProcess, fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export interface StartChildOptions {
  /** Command-line flags of Node. */
  readonly flags?: readonly string[];
  /** Processor core to pin the process to. Needs `taskset`. */
  readonly core?: number;
}

export function startChild(file: string, { flags = [], core }: StartChildOptions = {}): ChildProcess {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), process.argv.slice(2), {
    execArgv: [...flags],
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  if (core !== undefined) pin(child, core);
  return child;
}

/** Threads that the process starts later inherit the setting. */
function pin({ pid }: ChildProcess, core: number): void {
  const { status } = spawnSync("taskset", ["-a", "-c", "-p", String(core), String(pid)], { stdio: "ignore" });
  if (status !== 0) process.stdout.write("      (taskset is not available: the server is not pinned to one core)\n");
}

export async function sendAndWait<T>(child: ChildProcess, message: object | string): Promise<T> {
  child.send(message);
  const [answer] = (await once(child, "message")) as [T];
  return answer;
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
