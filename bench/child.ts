/** Programs of a benchmark in processes of their own, which are told something and answer. */
import { type ChildProcess, fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export interface StartOptions {
  /** Of node. */
  readonly flags?: readonly string[];
  /** The processor it may use alone, where the system can see to that. */
  readonly core?: number;
}

export function start(file: string, { flags = [], core }: StartOptions = {}): ChildProcess {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), process.argv.slice(2), {
    execArgv: [...flags],
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  if (core !== undefined) pin(child, core);
  return child;
}

/** Threads that begin later may use what the one they come from may. */
function pin({ pid }: ChildProcess, core: number): void {
  const { status } = spawnSync("taskset", ["-a", "-c", "-p", String(core), String(pid)], { stdio: "ignore" });
  if (status !== 0) process.stdout.write("      (taskset is not to be had: the server is not bound to one core)\n");
}

export async function tell<T>(child: ChildProcess, message: object | string): Promise<T> {
  child.send(message);
  const [answer] = (await once(child, "message")) as [T];
  return answer;
}

/** A text message of a client of a WebSocket, masked with nothing, in base64. */
export function maskText(text: string): string {
  const head = [0x81, 0x80 | 126, text.length >> 8, text.length & 0xff, 0, 0, 0, 0];
  return Buffer.concat([Buffer.from(head), Buffer.from(text)]).toString("base64");
}

export function upgradeTo(path: string, port: number): string {
  return (
    `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nconnection: upgrade\r\nupgrade: websocket\r\n` +
    "sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
  );
}
