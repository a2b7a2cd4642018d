// Fixtures for kill tests: a server that restarts at the same address, and clients that reconnect to it.
import { createServer } from "node:net";
import { setTimeout } from "node:timers/promises";
import {
  type ConnectOptions,
  type CommandResult,
  connect,
  type Connection,
  createFetchTransport,
  createReceiver,
  createWebSocketTransport,
  type Receiver,
  type Transport,
} from "../../src/client/index.ts";
import type { DialectName } from "../../src/dialects/index.ts";
import { createSseDecoder } from "../../src/framing/index.ts";
import { type Child, startChild } from "../durability/child.ts";

export const KINDS = ["sse", "ndjson", "socket"] as const;
export type Kind = (typeof KINDS)[number];

const MAX_CONNECTION_MS = 15_000;
const RECONNECT = { initialMs: 5, maxMs: 40, maxAttempts: 10_000 };

/** Finds a port below the ephemeral range, so that no other connection takes it while the server is down. */
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

/** A server at one address and on one store, in one process after the other. */
export class RestartableServer {
  readonly url: string;
  readonly #args: readonly string[];
  #child: Child | undefined;
  #exited: Promise<void> = Promise.resolve();

  constructor(store: string, port: number, host: string) {
    this.url = `http://127.0.0.1:${port}`;
    this.#args = [store, String(port), host];
  }

  /** Resolves when the server listens. */
  async start(): Promise<void> {
    this.#child = startChild("../server/kill-child.ts", this.#args);
    if ((await this.#child.next("listening")) === undefined) await this.#child.ended;
  }

  /** Resolves when the process has exited on its own. */
  get exited(): Promise<void> {
    return this.#child?.ended ?? this.#exited;
  }

  /** Sends SIGKILL. Resolves when the process has exited. */
  kill(): Promise<void> {
    const child = this.#child;
    child?.process.kill("SIGKILL");
    return (this.#exited = child?.ended ?? this.#exited);
  }
}

export function createTransport(kind: Kind, url: string, token?: string, timeoutMs = 1000): Transport {
  const common = { commandTimeoutMs: timeoutMs, ...(token === undefined ? {} : { token }) };
  if (kind !== "socket") return createFetchTransport({ url, framing: kind, ...common });
  const options = { connectTimeoutMs: timeoutMs, heartbeatMs: 500, ...common };
  return createWebSocketTransport({ url: `${url.replace("http", "ws")}/v1/ws`, ...options });
}

/** A client that views a session over any transport and checks that shown text never changes. */
export class SessionViewer {
  readonly receiver: Receiver = createReceiver({ notify: "sync" });
  /** Text that was shown and then changed or disappeared. */
  readonly regressions: string[] = [];
  readonly #session: string;
  readonly #transports: { readonly [K in Kind]: Transport };
  readonly #pace: Pick<ConnectOptions, "reconnect" | "heartbeatMs">;
  readonly #shown = new Map<string, string>();
  #connection: Connection;
  #isClosed = false;

  constructor(
    session: string,
    transports: { readonly [K in Kind]: Transport },
    kind: Kind,
    pace: Pick<ConnectOptions, "reconnect" | "heartbeatMs"> = { reconnect: RECONNECT, heartbeatMs: 1000 },
  ) {
    this.#session = session;
    this.#transports = transports;
    this.#pace = pace;
    this.receiver.subscribe(() => this.#compare());
    this.#connection = this.#connect(kind);
  }

  get isLive(): boolean {
    return this.#liveTurn !== undefined;
  }

  /** Whether the answer after the tool call has started. */
  get isAnswering(): boolean {
    const parts = this.#liveTurn?.messages.flatMap((message) => message.parts) ?? [];
    return parts.findLastIndex(({ type }) => type === "text") > parts.findIndex(({ type }) => type === "tool");
  }

  get #liveTurn() {
    return this.receiver.getSnapshot().sessions[0]?.turns.find(({ status }) => status === "running");
  }

  /** Disconnects and reconnects at once. */
  reconnect(kind: Kind): void {
    this.#connection.close();
    this.#connection = this.#connect(kind);
  }

  /** Sends a message, with the same ID each time, until the server has confirmed it. */
  async say(message: string, id: string, note?: (what: string) => void): Promise<CommandResult> {
    for (;;) {
      const outcome = await this.#connection.run({ message, id });
      if (outcome.kind !== "lost" || this.#isClosed) return outcome;
      note?.(`lost: ${outcome.code} ${outcome.message}`);
      await setTimeout(this.#pace.reconnect?.initialMs ?? 0);
    }
  }

  /** Cancels the run. A lost command can be sent again. */
  cancel(runId: string, id: string): Promise<CommandResult> {
    return this.#connection.cancel({ run_id: runId, id });
  }

  /** Approves the tool call that waits in this run, if this viewer shows one. */
  async approve(runId: string, id: string): Promise<void> {
    const turn = this.receiver.getSnapshot().sessions[0]?.turns.find((item) => item.runId === runId);
    for (const { parts } of turn?.messages ?? [])
      for (const part of parts)
        if (part.type === "tool" && part.call.approval?.decision === "pending")
          await this.#connection.approve({ run_id: runId, call_id: part.call.toolId, decision: "approved", id });
  }

  close(): void {
    this.#isClosed = true;
    this.#connection.close();
  }

  #connect(kind: Kind): Connection {
    const transport = this.#transports[kind];
    return connect(this.receiver, { transport, session: this.#session, ...this.#pace });
  }

  /** Shown text may only grow. */
  #compare(): void {
    for (const { turns } of this.receiver.getSnapshot().sessions)
      for (const { key, messages } of turns) {
        const parts = messages.flatMap((message) => message.parts);
        const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
        const before = this.#shown.get(key) ?? "";
        if (!text.startsWith(before)) this.regressions.push(`${before} → ${text}`);
        this.#shown.set(key, text);
      }
    for (const key of this.#shown.keys())
      if (!this.receiver.getSnapshot().sessions.some(({ turns }) => turns.some((turn) => turn.key === key)))
        this.regressions.push(`${key} disappeared`);
  }
}

export interface Frame {
  readonly text: string;
  readonly cursor: string;
}

/**
 * Reads a session over SSE until the signal is aborted, and resumes after the last ID when the connection breaks, or
 * when all is read if it does not follow. A function as URL is called for each connection.
 */
export async function readWithReconnect(
  url: string | (() => string),
  session: string,
  frames: Frame[],
  signal: AbortSignal,
  {
    dialect = "loom",
    token,
    pauseMs = 10,
    follow = true,
  }: {
    readonly dialect?: DialectName;
    readonly token?: string;
    readonly pauseMs?: number;
    readonly follow?: boolean;
  } = {},
): Promise<void> {
  while (!signal.aborted) {
    try {
      const last = frames.at(-1)?.cursor;
      const base = typeof url === "string" ? url : url();
      const response = await fetch(`${base}/v1/sessions/${session}/events?follow=${follow}&dialect=${dialect}`, {
        headers: {
          accept: "text/event-stream",
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(last === undefined ? {} : { "last-event-id": last }),
        },
        // A connection may stall without an end.
        signal: AbortSignal.any([signal, AbortSignal.timeout(MAX_CONNECTION_MS)]),
      });
      if (response.status !== 200) await response.body?.cancel();
      else {
        const decoder = createSseDecoder();
        for await (const bytes of response.body ?? [])
          for (const outcome of decoder.push(bytes))
            if (outcome.ok) frames.push({ text: outcome.text, cursor: outcome.id ?? "" });
      }
    } catch {
      // The connection broke, or the server is down.
    }
    await setTimeout(pauseMs);
  }
}

export async function until(
  isSo: () => boolean | Promise<boolean>,
  what: string | (() => string),
  timeout = 60_000,
): Promise<void> {
  for (const end = performance.now() + timeout; !(await isSo()); await setTimeout(5))
    if (performance.now() > end) throw new Error(`timed out waiting until ${typeof what === "string" ? what : what()}`);
}
