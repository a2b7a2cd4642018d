// What is before and around a server that is killed: an address that stays the same, and clients that come back to it.
import { createServer } from "node:net";
import { setTimeout } from "node:timers/promises";
import { vi } from "vitest";
import {
  type CommandOutcome,
  connect,
  type Connection,
  createFetchTransport,
  createReceiver,
  createWebSocketTransport,
  type Receiver,
  type Transport,
} from "../../src/client/index.ts";
import { createSseDecoder } from "../../src/framing/index.ts";
import { type Child, startChild } from "../durability/child.ts";

export const KINDS = ["sse", "ndjson", "socket"] as const;
export type Kind = (typeof KINDS)[number];

const RECONNECT = { initialMs: 5, maxMs: 40, maxAttempts: 10_000 };

/** Below those the system hands out, so that no connection comes to have it while the server is down. */
export async function findPort(random: (below: number) => number): Promise<number> {
  for (;;) {
    const port = 12_000 + ((process.pid * 7 + random(8_000)) % 18_000);
    const probe = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      probe.once("error", () => resolve(false));
      probe.listen(port, "127.0.0.1", () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => probe.close(resolve));
    return port;
  }
}

/** A server at one address, on one store, in one process after the other. */
export class Restarted {
  readonly url: string;
  readonly #args: readonly string[];
  #child: Child | undefined;
  #wish: Promise<void> = Promise.resolve();

  constructor(store: string, port: number, host: string) {
    this.url = `http://127.0.0.1:${port}`;
    this.#args = [store, String(port), host];
  }

  /** Resolves when it listens. */
  async start(): Promise<void> {
    this.#child = startChild("../server/kill-child.ts", this.#args);
    if ((await this.#child.next("listening")) === undefined) await this.#child.ended;
  }

  /** As by `kill -9`. Resolves when nothing of it is left. */
  kill(): Promise<void> {
    const child = this.#child;
    child?.process.kill("SIGKILL");
    return (this.#wish = child?.ended ?? this.#wish);
  }
}

export function createTransport(kind: Kind, url: string): Transport {
  const commandTimeoutMs = 1000;
  if (kind !== "socket") return createFetchTransport({ url, framing: kind, commandTimeoutMs });
  const options = { connectTimeoutMs: 1000, commandTimeoutMs, heartbeatMs: 500 };
  return createWebSocketTransport({ url: `${url.replace("http", "ws")}/v1/ws`, ...options });
}

/** Somebody who looks at a session, over one transport or another, and remembers what was shown. */
export class Onlooker {
  readonly receiver: Receiver = createReceiver({ notify: "sync" });
  /** What was shown, and then was not, or was something else. */
  readonly changed: string[] = [];
  readonly #session: string;
  readonly #transports: { readonly [K in Kind]: Transport };
  readonly #shown = new Map<string, string>();
  #connection: Connection;
  #isClosed = false;

  constructor(session: string, transports: { readonly [K in Kind]: Transport }, kind: Kind) {
    this.#session = session;
    this.#transports = transports;
    this.receiver.subscribe(() => this.#compare());
    this.#connection = this.#connect(kind);
  }

  get isLive(): boolean {
    return this.#liveTurn !== undefined;
  }

  /** The answer that comes after the tool has begun. */
  get isAnswering(): boolean {
    const parts = this.#liveTurn?.messages.flatMap((message) => message.parts) ?? [];
    return parts.findLastIndex(({ type }) => type === "text") > parts.findIndex(({ type }) => type === "tool");
  }

  get #liveTurn() {
    return this.receiver.getSnapshot().sessions[0]?.turns.find(({ status }) => status === "running");
  }

  /** Goes, and comes back at once. */
  comeBack(kind: Kind): void {
    this.#connection.close();
    this.#connection = this.#connect(kind);
  }

  /** Asks until it is known to have been heard, with the same id each time. */
  async say(message: string, id: string): Promise<CommandOutcome> {
    for (;;) {
      const outcome = await this.#connection.run({ message, id });
      if (outcome.kind !== "lost" || this.#isClosed) return outcome;
      await setTimeout(5);
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#connection.close();
  }

  #connect(kind: Kind): Connection {
    const transport = this.#transports[kind];
    return connect(this.receiver, { transport, session: this.#session, reconnect: RECONNECT, heartbeatMs: 1000 });
  }

  /** Text only grows. */
  #compare(): void {
    for (const { turns } of this.receiver.getSnapshot().sessions)
      for (const { key, messages } of turns) {
        const parts = messages.flatMap((message) => message.parts);
        const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
        const before = this.#shown.get(key) ?? "";
        if (!text.startsWith(before)) this.changed.push(`${before} → ${text}`);
        this.#shown.set(key, text);
      }
    for (const key of this.#shown.keys())
      if (!this.receiver.getSnapshot().sessions.some(({ turns }) => turns.some((turn) => turn.key === key)))
        this.changed.push(`${key} is gone`);
  }
}

export interface Frame {
  readonly text: string;
  readonly cursor: string;
}

/** Reads a session as plain server-sent events, again after the last id whenever it breaks off, until it is told to stop. */
export async function readOn(url: string, session: string, frames: Frame[], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      const last = frames.at(-1)?.cursor;
      const response = await fetch(`${url}/v1/sessions/${session}/events?follow=true`, {
        headers: { accept: "text/event-stream", ...(last === undefined ? {} : { "last-event-id": last }) },
        signal,
      });
      if (response.status !== 200) await response.body?.cancel();
      else {
        const decoder = createSseDecoder();
        for await (const bytes of response.body ?? [])
          for (const outcome of decoder.push(bytes))
            if (outcome.ok) frames.push({ text: outcome.text, cursor: outcome.id ?? "" });
      }
    } catch {
      // It broke off, or nobody is there.
    }
    await setTimeout(10);
  }
}

export async function until(
  isSo: () => boolean | Promise<boolean>,
  what: string | (() => string),
  timeout = 60_000,
): Promise<void> {
  await vi.waitFor(
    async () => {
      if (!(await isSo())) throw new Error(`it never came about: ${typeof what === "string" ? what : what()}`);
    },
    { timeout, interval: 5 },
  );
}
