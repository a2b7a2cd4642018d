/**
 * One MCP server over its whole life: started, listed, called, started again when it has died, closed. Whatever it does,
 * a call gets an answer or an error in time. It knows no agent and no model.
 *
 *     starting → ready ⇄ down (died; started again by the next call) ⇄ failed (too often; it rests), or closed
 *
 * Invariant: at most one connection is alive or under way.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { isLoomError, type JsonObject, LoomError } from "../../protocol/index.ts";
import { describeFailure, dropStack, shorten } from "../describe-failure.ts";
import { untilAborted } from "../until-aborted.ts";
import { listSecrets } from "./list-secrets.ts";
import { type McpConnection, openMcpConnection, type RequestSettings } from "./mcp-connection.ts";
import type { McpServerConfig } from "./read-mcp-config.ts";

export type McpServerState = "starting" | "ready" | "down" | "failed" | "closed";

export interface McpServerStatus {
  readonly name: string;
  readonly state: McpServerState;
  /** Why it is not ready. */
  readonly error?: string;
  /** Tools that can be called. */
  readonly tools: number;
  /** Tools that it has and that were left out: too many, or declared in a way nobody could call. */
  readonly toolsLeftOut: number;
  /** How often it was started again. */
  readonly restarts: number;
  /** Lines it printed where messages belong. */
  readonly ignoredLines: number;
  /** The last it wrote to its standard error. */
  readonly stderr: string;
}

export interface McpServerLimits {
  /** For the start and for listing its tools. */
  readonly startTimeoutMs: number;
  /** Code `tool_timeout`. */
  readonly callTimeoutMs: number;
  /** How long a server has to say that it lives, after a call it did not answer. */
  readonly pingTimeoutMs: number;
  /** Failures in a row after which a program is left alone for `forgiveMs`. Code `mcp_failed`. A URL is always tried. */
  readonly maxRestarts: number;
  /** The pause before it is started again; doubles with every failure. */
  readonly restartMs: number;
  /** After so long without a failure, one is forgotten. */
  readonly forgiveMs: number;
  readonly maxTools: number;
  readonly maxMessageBytes: number;
  readonly maxIgnoredLines: number;
  /** Of one start; what comes after is dropped. */
  readonly maxStderrBytes: number;
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

  /** The tools as the server declares them, no more than are allowed. Never rejects: the status says what is wrong. */
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
      if (this.#state === "ready") this.#error = this.#say(words);
      if (found.length === 0) await this.#abandon();
    }
    this.#toolsLeftOut = leftOut;
    return found;
  }

  /** Without tools nobody will ever call it. */
  async #abandon(): Promise<void> {
    if (this.#state === "closed") return;
    this.#state = "failed";
    const connection = this.#connection;
    this.#connection = undefined;
    await connection?.close().catch(() => undefined);
  }

  /** Said by whoever made tools of the list. */
  setTools(count: number, leftOut: number): void {
    this.#tools = count;
    this.#toolsLeftOut += leftOut;
  }

  /** Calls a tool. Rejects with `mcp_failed`, `tool_timeout`, or the reason of the signal. */
  async call(params: JsonObject, signal: AbortSignal, onProgress?: RequestSettings["onProgress"]): Promise<JsonObject> {
    const settings = {
      timeoutMs: this.#limits.callTimeoutMs,
      signal,
      ...(onProgress === undefined ? {} : { onProgress }),
    };
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
        // Nothing was done yet: a server over HTTP that was started anew asks only for a new session.
        if (isLost && error.details["is_undone"] === true && attempt === 0) continue;
        if (isLoomError(error, "tool_timeout")) void this.#ping(connection);
        throw this.#explain(error);
      }
    }
  }

  async close(): Promise<void> {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#closing.abort(new LoomError("mcp_failed", `The MCP server ${this.name} is closed.`));
    const opening = await this.#opening?.catch(() => undefined);
    const connection = this.#connection ?? opening;
    this.#connection = undefined;
    await connection?.close();
  }

  /** The living connection, or a new one. Several callers share the same start, and each may stop waiting for it. */
  async #connect(signal: AbortSignal): Promise<McpConnection> {
    this.#closing.signal.throwIfAborted();
    if (this.#connection !== undefined) return this.#connection;
    if (this.#state === "failed" && performance.now() < this.#retryAt)
      throw this.#explain(new LoomError("mcp_failed", this.#error ?? "failed"));
    if (this.#opening === undefined) {
      this.#opening = this.#open().finally(() => {
        this.#opening = undefined;
      });
      // Each caller may be gone by the time it fails.
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
            if (kept !== "") this.#hear(kept);
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

  /** Gives up a connection; the next call opens another. */
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
    this.#error = this.#say(reason);
    // The first pause is short: most servers that die do it once.
    this.#retryAt = now + Math.min(MAX_PAUSE_MS, restartMs * 2 ** (this.#failures - 1));
    this.#state = "down";
    // Asking a URL again costs nothing; it may be back at any time.
    if (this.#failures <= maxRestarts || !("command" in this.#config)) return;
    this.#state = "failed";
    this.#retryAt = now + forgiveMs;
    this.#error = `${this.#error}; it has failed ${this.#failures} times and is left alone for ${forgiveMs} ms`;
  }

  /** A server that did not answer a call may be slow, or stuck for good. */
  async #ping(connection: McpConnection): Promise<void> {
    if (this.#isPinging) return;
    this.#isPinging = true;
    try {
      await connection.request("ping", {}, { timeoutMs: this.#limits.pingTimeoutMs });
    } catch (error) {
      // An answer of any kind is a sign of life.
      const isLost = isLoomError(error) && error.details["is_lost"] === true;
      if (isLost || isLoomError(error, "tool_timeout")) this.#drop(connection, "does not answer any more");
    } finally {
      this.#isPinging = false;
    }
  }

  #hear(text: string): void {
    this.#stderr = (this.#stderr + text).slice(-STDERR_TAIL);
    try {
      this.#onStderr(text);
    } catch {
      // Whoever listens must not disturb the server.
    }
  }

  #explain(error: unknown): unknown {
    if (!isLoomError(error, "mcp_failed", "tool_timeout")) return error;
    const words = this.#say(error.message);
    const message = words.startsWith("The MCP server") ? words : `The MCP server ${this.name}: ${words}`;
    return new LoomError(
      error.code,
      message.endsWith(".") ? message : `${message}.`,
      { server: this.name },
      { cause: error },
    );
  }

  /** A text without what the server was told in confidence. */
  redact(text: string): string {
    return this.#secrets.reduce((said, secret) => said.replaceAll(secret, "•••"), text);
  }

  /** Words of a server: no secrets, no stack, one line, and not without end. */
  #say(text: string): string {
    return shorten(dropStack(this.redact(text)).replaceAll(/\s+/g, " ").trim(), MAX_ERROR);
  }
}
