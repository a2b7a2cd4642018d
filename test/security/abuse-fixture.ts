// A server in a separate process, raw connections to it, and measurements of its memory and open connections.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, vi } from "vitest";
import { WebSocket } from "ws";
import type { ServerLimits } from "../../src/server/guard/server-limits.ts";
import { startChild } from "../durability/child.ts";

export interface ServerMeasurement {
  /** Heap and buffer memory in use, after garbage collection. */
  readonly bytes: number;
  readonly rss: number;
  /** Open connections to the process, including the one of this measurement. */
  readonly connections: number;
  /** Number of errors that the server reported. */
  readonly reports: number;
  /** Enumerable properties that were added to `Object.prototype`. */
  readonly pollution: readonly string[];
}

export interface AbuseFixture {
  readonly port: number;
  readonly url: string;
  /** Opens a raw connection that reads everything it receives. */
  connect(): RawClient;
  measure(): Promise<ServerMeasurement>;
  /** Expects that the server answers a request and a WebSocket connection, and has reported no error. */
  expectHealthy(): Promise<void>;
  /** Closes all raw connections and waits until the server has closed its side. */
  disconnectAll(): Promise<ServerMeasurement>;
  readonly lines: readonly string[];
  close(): Promise<void>;
}

export interface RawClient {
  readonly socket: Socket;
  /** Everything received so far, as Latin-1: one character per byte. */
  readonly received: () => string;
  send(...parts: readonly (string | Buffer)[]): void;
  /** Waits until the received text contains or matches this. */
  waitFor(what: string | RegExp, timeout?: number): Promise<string>;
  /** Waits until the server closes the connection. Returns everything it received. */
  waitForClose(timeout?: number): Promise<string>;
  /** Waits until everything sent has been handed to the operating system. Returns false after the timeout. */
  waitForDrain(timeout: number): Promise<boolean>;
  disconnect(): void;
}

export async function createAbuseFixture(limits: Partial<ServerLimits>): Promise<AbuseFixture> {
  const child = startChild("../security/abuse-child.ts", [JSON.stringify(limits)]);
  const line = await child.next("listening");
  if (line === undefined) await child.ended;
  const [port = 0, measuring = 0] = (line ?? "").split(" ").slice(1).map(Number);
  const url = `http://127.0.0.1:${port}`;
  const clients = new Set<RawClient>();
  const measure = async (): Promise<ServerMeasurement> =>
    (await (
      await fetch(`http://127.0.0.1:${measuring}/`, { headers: { connection: "close" } })
    ).json()) as ServerMeasurement;
  const countConnections = async (): Promise<number> =>
    Number(
      await (await fetch(`http://127.0.0.1:${measuring}/connections`, { headers: { connection: "close" } })).text(),
    );
  return {
    port,
    url,
    lines: child.lines,
    connect() {
      const client = connectRawClient(port);
      clients.add(client);
      client.socket.once("close", () => clients.delete(client));
      return client;
    },
    measure,
    async expectHealthy() {
      const response = await fetch(`${url}/healthz`, { headers: { connection: "close" } });
      expect([response.status, await response.text()]).toEqual([200, expect.stringContaining("ok")]);
      const socket = new WebSocket(`ws://127.0.0.1:${port}/v1/ws`);
      const [hello] = (await once(socket, "message")) as [Buffer];
      expect(hello.toString()).toContain('"type":"hello"');
      socket.terminate();
      expect(child.lines.filter((line) => line.startsWith("reported"))).toEqual([]);
    },
    async disconnectAll() {
      for (const client of clients) client.disconnect();
      // A measurement collects garbage, which takes long.
      await vi.waitFor(async () => expect(await countConnections()).toBeLessThanOrEqual(1), {
        timeout: 15_000,
        interval: 20,
      });
      return measure();
    },
    async close() {
      for (const client of clients) client.disconnect();
      child.process.kill("SIGKILL");
      await child.ended;
    },
  };
}

function connectRawClient(port: number): RawClient {
  const socket = connect(port, "127.0.0.1");
  let text = "";
  let isOver = false;
  socket.on("error", () => undefined);
  socket.on("data", (bytes: Buffer) => (text += bytes.toString("latin1")));
  socket.on("close", () => (isOver = true));
  const waitUntil = (isMet: () => boolean, timeout: number): Promise<string> =>
    new Promise((resolve, reject) => {
      const check = (): void => {
        if (!isMet()) return;
        stop();
        resolve(text);
      };
      const stop = (): void => {
        clearTimeout(timer);
        socket.off("data", check).off("close", check);
      };
      const timer = setTimeout(() => {
        stop();
        const state = isOver ? "then the connection closed" : "and the connection is open";
        reject(new Error(`received ${JSON.stringify(text.slice(0, 300))}, ${state}`));
      }, timeout);
      socket.on("data", check).on("close", check);
      check();
    });
  return {
    socket,
    received: () => text,
    send(...parts) {
      for (const part of parts) socket.write(typeof part === "string" ? Buffer.from(part, "latin1") : part);
    },
    waitFor: (what, timeout = 15_000) =>
      waitUntil(() => (typeof what === "string" ? text.includes(what) : what.test(text)), timeout),
    waitForClose: (timeout = 15_000) => waitUntil(() => isOver, timeout),
    waitForDrain(timeout) {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const onEnd = (): void => resolve(true);
      socket.once("drain", onEnd).once("close", onEnd);
      const timer = setTimeout(resolve, timeout, false);
      return promise.finally(() => {
        clearTimeout(timer);
        socket.off("drain", onEnd).off("close", onEnd);
      });
    },
    disconnect: () => void socket.destroy(),
  };
}
