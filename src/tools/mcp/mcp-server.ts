/**
 * Manages one MCP server: starts it, lists and calls its tools, restarts it after a crash, and closes it. Every call
 * gets a result or an error within its timeout.
 *
 *     starting → ready ⇄ down (restarted by the next call) ⇄ failed (too many failures; paused), or closed
 *
 * Invariant: there is at most one connection, open or opening.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { isLoomError, type JsonObject, LoomError } from "../../protocol/index.ts";
import { describeFailure, dropStack } from "../describe-failure.ts";
import { listSecrets, type McpServerConfig } from "./read-mcp-config.ts";
import { type McpConnection, openMcpConnection, type McpRequestSettings } from "./mcp-connection.ts";
import { untilAborted } from "../../protocol/until-aborted.ts";
import { shorten } from "../../protocol/cut-text.ts";

/**
 * `down`: restarted by the next call. `failed`: not restarted for `forgiveMs`, or unable to list its tools. `closed`:
 * closed by `close`.
 */
export type McpServerState = "starting" | "ready" | "down" | "failed" | "closed";

/** Current status of an MCP server. */
export interface McpServerStatus {
  readonly name: string;
  readonly state: McpServerState;
  /** Why the server is not ready. */
  readonly error?: string;
  /** Number of tools that can be called. */
  readonly tools: number;
  /** Number of tools left out, because there were too many or their declaration is invalid. */
  readonly toolsLeftOut: number;
  /** Number of restarts. */
  readonly restarts: number;
  /** Lines on standard output that are not messages. */
  readonly ignoredLines: number;
  /** Last part of its standard error. */
  readonly stderr: string;
}

/** Limits for each MCP server. */
export interface McpServerLimits {
  readonly startTimeoutMs: number;
  readonly callTimeoutMs: number;
  /** Time a server has to answer a ping after a call timed out, in milliseconds. */
  readonly pingTimeoutMs: number;
  /** Consecutive failures after which a local server is not restarted for `forgiveMs`. */
  readonly maxRestarts: number;
  /** Delay before the first restart, in milliseconds. Doubles with each failure. */
  readonly restartMs: number;
  /** Time without failures after which one failure is forgotten, in milliseconds. */
  readonly forgiveMs: number;
  readonly maxTools: number;
  /** Maximum size of one message, in bytes. A longer one closes the connection. */
  readonly maxMessageBytes: number;
  /** Lines on standard output that are not messages, after which the server is killed. */
  readonly maxIgnoredLines: number;
  /** Maximum bytes of standard error read per start; the rest is dropped. */
  readonly maxStderrBytes: number;
  /** Time a local server has to exit after its input ends, and again after SIGTERM, in milliseconds. */
  readonly graceMs: number;
}

const MAX_PAUSE_MS = 10_000;
const MAX_PAGES = 200;
const STDERR_TAIL = 2000;
const MAX_ERROR = 500;

export class McpServer {
  readonly name: string;
  readonly #config: McpServerConfig;
  readonly #limits: McpServerLimits;
  readonly #onStderr: (text: string) => void;
  readonly #secrets: readonly string[];
  readonly #closing = new AbortController();
  #state: McpServerState = "starting";
  #connection: McpConnection | undefined;
  #opening: Promise<McpConnection> | undefined;
  #error: string | undefined;
  #failures = 0;
  #failedAt = 0;
  #retryAt = 0;
  #starts = 0;
  #tools = 0;
  #toolsLeftOut = 0;
  #stderr = "";
  #isPinging = false;

  constructor(name: string, config: McpServerConfig, limits: McpServerLimits, onStderr: (text: string) => void) {
    this.name = name;
    this.#config = config;
    this.#limits = limits;
    this.#onStderr = onStderr;
    this.#secrets = listSecrets(config);
  }

  get status(): McpServerStatus {
    return {
      name: this.name,
      state: this.#state,
      ...(this.#error === undefined ? {} : { error: this.#error }),
      tools: this.#tools,
      toolsLeftOut: this.#toolsLeftOut,
      restarts: Math.max(0, this.#starts - 1),
      ignoredLines: this.#connection?.ignoredLines ?? 0,
      stderr: this.#stderr,
    };
  }

  /** Returns the declared tools, up to the limit. Never rejects: `status` has the error. */
  async list(): Promise<JsonObject[]> {
    const { maxTools, startTimeoutMs } = this.#limits;
    const found: JsonObject[] = [];
    let leftOut = 0;
    try {
      const connection = await this.#connect(this.#closing.signal);
      const deadline = AbortSignal.timeout(startTimeoutMs);
      let cursor: string | undefined;
      for (let page = 0; page < MAX_PAGES; page += 1) {
        const settings = { timeoutMs: startTimeoutMs, signal: deadline };
        const answer = await connection.request("tools/list", cursor === undefined ? {} : { cursor }, settings);
        const tools = Array.isArray(answer["tools"]) ? (answer["tools"] as JsonObject[]) : [];
        const room = Math.max(0, maxTools - found.length);
        found.push(...tools.slice(0, room));
        leftOut += Math.max(0, tools.length - room);
        cursor = typeof answer["nextCursor"] === "string" ? answer["nextCursor"] : undefined;
        if (cursor === undefined) break;
      }
    } catch (error) {
      const words = isLoomError(error) ? error.message : "did not list its tools in time";
      if (this.#state === "ready") this.#error = this.#cleanMessage(words);
      if (found.length === 0) await this.#abandon();
    }
    this.#toolsLeftOut = leftOut;
    return found;
  }

  /** Closes a server without tools, because it will never be called. */
  async #abandon(): Promise<void> {
    if (this.#state === "closed") return;
    this.#state = "failed";
    const connection = this.#connection;
    this.#connection = undefined;
    await connection?.close().catch(() => undefined);
  }

  /** Records how many tools were created from the list. */
  setTools(count: number, leftOut: number): void {
    this.#tools = count;
    this.#toolsLeftOut += leftOut;
  }

  /** Calls a tool. Rejects with `mcp_failed`, `tool_timeout`, or the reason of the signal. */
  async call(
    params: JsonObject,
    signal: AbortSignal,
    listeners: Pick<McpRequestSettings, "onProgress" | "onLog"> = {},
  ): Promise<JsonObject> {
    const settings = { timeoutMs: this.#limits.callTimeoutMs, signal, ...listeners };
    for (let attempt = 0; ; attempt += 1) {
      const connection = await this.#connect(signal);
      try {
        const answer = await connection.request("tools/call", params, settings);
        this.#failures = 0;
        return answer;
      } catch (error) {
        signal.throwIfAborted();
        const isLost = isLoomError(error, "mcp_failed") && error.details["is_lost"] === true;
        if (isLost) this.#drop(connection, error.message);
        // The server did not process the call: a restarted HTTP server only needs a new session.
        if (isLost && error.details["is_undone"] === true && attempt === 0) continue;
        if (isLoomError(error, "tool_timeout")) void this.#ping(connection);
        throw this.#explain(error);
      }
    }
  }

  async close(): Promise<void> {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#closing.abort(new LoomError("mcp_failed", `MCP server ${this.name} is closed`));
    const opening = await this.#opening?.catch(() => undefined);
    const connection = this.#connection ?? opening;
    this.#connection = undefined;
    await connection?.close();
  }

  /** Returns the open connection, or opens one. Concurrent callers share one start, and each can stop waiting. */
  async #connect(signal: AbortSignal): Promise<McpConnection> {
    this.#closing.signal.throwIfAborted();
    if (this.#connection !== undefined) return this.#connection;
    if (this.#state === "failed" && performance.now() < this.#retryAt)
      throw this.#explain(new LoomError("mcp_failed", this.#error ?? "failed"));
    if (this.#opening === undefined) {
      this.#opening = this.#open().finally(() => {
        this.#opening = undefined;
      });
      // Prevents an unhandled rejection if all callers have stopped waiting.
      this.#opening.catch(() => undefined);
    }
    return untilAborted(this.#opening, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      throw this.#explain(error);
    });
  }

  async #open(): Promise<McpConnection> {
    const { signal } = this.#closing;
    const pause = this.#retryAt - performance.now();
    if (pause > 0) await sleep(pause, undefined, { signal }).catch(() => signal.throwIfAborted());
    this.#starts += 1;
    let room = this.#limits.maxStderrBytes;
    let connection: McpConnection | undefined;
    try {
      connection = await openMcpConnection(
        this.#config,
        {
          ...this.#limits,
          onStderr: (text) => {
            const kept = text.slice(0, Math.max(0, room));
            room -= text.length;
            if (kept !== "") this.#recordStderr(kept);
          },
          onClose: (reason) => {
            if (connection !== undefined) this.#drop(connection, reason);
          },
        },
        signal,
      );
    } catch (error) {
      signal.throwIfAborted();
      if (isLoomError(error, "missing_package")) throw error;
      this.#fail(describeFailure(error));
      throw error;
    }
    this.#connection = connection;
    this.#state = "ready";
    this.#error = undefined;
    return connection;
  }

  /** Closes a connection. The next call opens another. */
  #drop(connection: McpConnection, reason: string): void {
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    void connection.close().catch(() => undefined);
    this.#fail(reason);
  }

  #fail(reason: string): void {
    if (this.#state === "closed") return;
    const { maxRestarts, restartMs, forgiveMs } = this.#limits;
    const now = performance.now();
    const forgiven = forgiveMs === 0 ? 0 : Math.floor((now - this.#failedAt) / forgiveMs);
    this.#failures = Math.max(0, this.#failures - forgiven) + 1;
    this.#failedAt = now;
    this.#error = this.#cleanMessage(reason);
    // The first delay is short, because most crashes happen only once.
    this.#retryAt = now + Math.min(MAX_PAUSE_MS, restartMs * 2 ** (this.#failures - 1));
    this.#state = "down";
    // Trying a URL again is cheap.
    if (this.#failures <= maxRestarts || !("command" in this.#config)) return;
    this.#state = "failed";
    this.#retryAt = now + forgiveMs;
    this.#error = `${this.#error}; failed ${this.#failures} times, next attempt in ${forgiveMs} ms`;
  }

  /** Checks whether a server that did not answer a call is slow or stuck. */
  async #ping(connection: McpConnection): Promise<void> {
    if (this.#isPinging) return;
    this.#isPinging = true;
    try {
      await connection.request("ping", {}, { timeoutMs: this.#limits.pingTimeoutMs });
    } catch (error) {
      // Any response shows that the server is alive.
      const isLost = isLoomError(error) && error.details["is_lost"] === true;
      if (isLost || isLoomError(error, "tool_timeout")) this.#drop(connection, "stopped responding");
    } finally {
      this.#isPinging = false;
    }
  }

  #recordStderr(text: string): void {
    this.#stderr = (this.#stderr + text).slice(-STDERR_TAIL);
    try {
      this.#onStderr(text);
    } catch {
      // An error in the callback must not affect the server.
    }
  }

  #explain(error: unknown): unknown {
    if (!isLoomError(error, "mcp_failed", "tool_timeout")) return error;
    const words = this.#cleanMessage(error.message);
    const message = words.startsWith(`MCP server ${this.name}`) ? words : `MCP server ${this.name}: ${words}`;
    return new LoomError(
      error.code,
      message.endsWith(".") ? message : `${message}.`,
      { server: this.name },
      { cause: error },
    );
  }

  /** Removes the secrets of the server from a text. */
  redact(text: string): string {
    return this.#secrets.reduce((cleaned, secret) => cleaned.replaceAll(secret, "•••"), text);
  }

  /** Cleans a message of a server: no secrets, no stack, one line, limited length. */
  #cleanMessage(text: string): string {
    return shorten(dropStack(this.redact(text.toWellFormed())).replaceAll(/\s+/g, " ").trim(), MAX_ERROR);
  }
}
