// A stage for abuse: a server in a process of its own, raw connections to it, and what is left when they are gone.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, vi } from "vitest";
import { WebSocket } from "ws";
import type { ServerLimits } from "../../src/server/server-limits.ts";
import { startChild } from "../durability/child.ts";

export interface Measure {
  /** What the process holds, rubbish not counted. */
  readonly bytes: number;
  readonly rss: number;
  /** Connections to the process: at least the one that asks for this. */
  readonly connections: number;
  /** What whoever runs the server was told of. */
  readonly reports: number;
  /** What was put on every object. */
  readonly pollution: readonly string[];
}

export interface AbuseStage {
  readonly port: number;
  readonly url: string;
  /** A connection that sends what it is told and reads, unless told not to. */
  connect(): Abuser;
  measure(): Promise<Measure>;
  /** Answers a request, a socket, and says that nothing went wrong. */
  expectUp(): Promise<void>;
  /** Whoever abused it is gone, and so is all that was held on their account. */
  expectGone(): Promise<Measure>;
  readonly lines: readonly string[];
  close(): Promise<void>;
}

export interface Abuser {
  readonly socket: Socket;
  /** As Latin-1, so that a byte is a character. */
  readonly said: () => string;
  send(...parts: readonly (string | Buffer)[]): void;
  /** Until it has said this. */
  until(what: string | RegExp, timeout?: number): Promise<string>;
  /** Until it hangs up; all that it said. */
  closed(timeout?: number): Promise<string>;
  /** Until what was sent has been taken, or nobody has taken it for so long. False: nobody does. */
  drained(timeout: number): Promise<boolean>;
  leave(): void;
}

export async function setAbuseStage(limits: Partial<ServerLimits>): Promise<AbuseStage> {
  const child = startChild("../security/abuse-child.ts", [JSON.stringify(limits)]);
  const said = await child.next("listening");
  if (said === undefined) await child.ended;
  const [port = 0, measuring = 0] = (said ?? "").split(" ").slice(1).map(Number);
  const url = `http://127.0.0.1:${port}`;
  const abusers = new Set<Abuser>();
  const measure = async (): Promise<Measure> =>
    (await (await fetch(`http://127.0.0.1:${measuring}/`, { headers: { connection: "close" } })).json()) as Measure;
  return {
    port,
    url,
    lines: child.lines,
    connect() {
      const abuser = openAbuser(port);
      abusers.add(abuser);
      abuser.socket.once("close", () => abusers.delete(abuser));
      return abuser;
    },
    measure,
    async expectUp() {
      const response = await fetch(`${url}/healthz`, { headers: { connection: "close" } });
      expect([response.status, await response.text()]).toEqual([200, expect.stringContaining("ok")]);
      const socket = new WebSocket(`ws://127.0.0.1:${port}/v1/ws`);
      const [hello] = (await once(socket, "message")) as [Buffer];
      expect(hello.toString()).toContain('"type":"hello"');
      socket.terminate();
      expect(child.lines.filter((line) => line.startsWith("reported"))).toEqual([]);
    },
    async expectGone() {
      for (const abuser of abusers) abuser.leave();
      return vi.waitFor(
        async () => {
          const measured = await measure();
          expect(measured.connections).toBeLessThanOrEqual(1);
          return measured;
        },
        { timeout: 15_000, interval: 20 },
      );
    },
    async close() {
      for (const abuser of abusers) abuser.leave();
      child.process.kill("SIGKILL");
      await child.ended;
    },
  };
}

function openAbuser(port: number): Abuser {
  const socket = connect(port, "127.0.0.1");
  let text = "";
  let isOver = false;
  socket.on("error", () => undefined);
  socket.on("data", (bytes: Buffer) => (text += bytes.toString("latin1")));
  socket.on("close", () => (isOver = true));
  return {
    socket,
    said: () => text,
    send(...parts) {
      for (const part of parts) socket.write(typeof part === "string" ? Buffer.from(part, "latin1") : part);
    },
    until: (what, timeout = 15_000) =>
      vi.waitFor(
        () => {
          const isThere = typeof what === "string" ? text.includes(what) : what.test(text);
          if (!isThere) throw new Error(`it said ${JSON.stringify(text.slice(0, 300))}${isOver ? " and left" : ""}`);
          return text;
        },
        { timeout, interval: 2 },
      ),
    closed: (timeout = 15_000) =>
      vi.waitFor(
        () => {
          if (!isOver) throw new Error(`it is still there, and said ${JSON.stringify(text.slice(0, 300))}`);
          return text;
        },
        { timeout, interval: 2 },
      ),
    drained(timeout) {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const onEnd = (): void => resolve(true);
      socket.once("drain", onEnd).once("close", onEnd);
      const timer = setTimeout(resolve, timeout, false);
      return promise.finally(() => {
        clearTimeout(timer);
        socket.off("drain", onEnd).off("close", onEnd);
      });
    },
    leave: () => void socket.destroy(),
  };
}
