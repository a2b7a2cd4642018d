/**
 * Runs an MCP server as a child process and exchanges JSON lines with it. The child has its own process group, so that
 * its descendants end with it, inherits only a few environment variables, and its output is limited.
 *
 * Invariant: `onclose` is called once, when the process has ended or was given up.
 */
import { Buffer } from "node:buffer";
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { setTimeout as sleep } from "node:timers/promises";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { LoomError } from "../../protocol/index.ts";
import { forgetGroup, signalGroup, watchGroup } from "./kill-on-exit.ts";
import type { StdioServerConfig } from "./read-mcp-config.ts";

export interface ChildTransportOptions extends StdioServerConfig {
  /** Parses a line. Throws if it is not a message. */
  readonly decode: (line: string) => JSONRPCMessage;
  readonly maxMessageBytes: number;
  /** Limit for lines that are not messages. */
  readonly maxIgnoredLines: number;
  readonly onStderr: (text: string) => void;
  /** Time the process has to exit after its input ends, and again after SIGTERM, in milliseconds. */
  readonly graceMs: number;
}

/** Variables the child inherits. None of them should contain a secret. */
const INHERITED_VARIABLES =
  process.platform === "win32"
    ? ["PATH", "SYSTEMROOT", "SYSTEMDRIVE", "TEMP", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "HOMEDRIVE", "HOMEPATH"]
    : ["PATH", "HOME", "LANG"];

const LINE_FEED = 0x0a;
/** How long the pipes of an ended process are still read, in milliseconds. */
const DRAIN_MS = 200;

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

export class ChildTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #options: ChildTransportOptions;
  #child: Child | undefined;
  #line: Buffer[] = [];
  #lineBytes = 0;
  #ignoredLines = 0;
  #ending: string | undefined;
  #isClosing = false;
  #isClosed = false;

  constructor(options: ChildTransportOptions) {
    this.#options = options;
  }

  get ignoredLines(): number {
    return this.#ignoredLines;
  }

  /** Why the process ended, if it was not closed by `close`. */
  get ending(): string | undefined {
    return this.#ending;
  }

  async start(): Promise<void> {
    const { command, args = [], env, cwd } = this.#options;
    const child: Child = spawn(command, [...args], {
      ...(cwd === undefined ? {} : { cwd }),
      env: makeEnvironment(env),
      stdio: ["pipe", "pipe", "pipe"],
      detached: process.platform !== "win32",
      windowsHide: true,
    });
    this.#child = child;
    child.stdin.on("error", (error) => this.onerror?.(error));
    child.stdout.on("error", (error) => this.onerror?.(error));
    child.stderr.on("error", (error) => this.onerror?.(error));
    child.stdout.on("data", (chunk: Buffer) => this.#take(chunk));
    // Always read, so that a child that writes a lot does not block.
    const decoder = new StringDecoder("utf8");
    child.stderr.on("data", (chunk: Buffer) => this.#options.onStderr(decoder.write(chunk)));
    const { pid } = child;
    if (pid !== undefined) watchGroup(pid);
    child.once("exit", (code, signal) => this.#onExit(code, signal));
    child.once("close", () => this.#finish());
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", (error) => {
        const code: unknown = "code" in error ? error.code : undefined;
        this.#ending ??= `could not be started${typeof code === "string" ? ` (${code})` : ""}`;
        reject(new LoomError("mcp_failed", this.#ending, {}, { cause: error }));
        if (pid === undefined) this.#finish();
      });
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const { stdin } = this.#child ?? {};
    if (stdin === undefined || this.#isClosed || !stdin.writable) throw new LoomError("mcp_failed", "is not running");
    // Limits memory if the child does not read its input.
    if (stdin.writableLength > this.#options.maxMessageBytes)
      throw new LoomError("mcp_failed", "does not read its input");
    stdin.write(`${JSON.stringify(message)}\n`);
  }

  /** Ends the process: closes its input, then sends SIGTERM, then SIGKILL. */
  async close(): Promise<void> {
    const child = this.#child;
    if (child === undefined || this.#isClosed) return this.#finish();
    const { graceMs } = this.#options;
    const { pid } = child;
    const gone = new Promise<true>((resolve) => {
      child.once("close", () => resolve(true));
    });
    const wait = async (): Promise<boolean> =>
      Promise.race([gone, sleep(graceMs, false, { ref: false })]).then((isGone) => isGone || hasEnded(child));
    this.#isClosing = true;
    child.stdin.end();
    if (await wait()) return this.#finish();
    if (pid !== undefined) signalGroup(pid, "SIGTERM");
    if (!(await wait()) && pid !== undefined) signalGroup(pid, "SIGKILL");
    this.#finish();
  }

  /** Kills the process after a violation of a limit. */
  #giveUp(why: string): void {
    this.#ending ??= why;
    const pid = this.#child?.pid;
    if (pid !== undefined) signalGroup(pid, "SIGKILL");
    this.onerror?.(new LoomError("mcp_failed", why));
    this.#finish();
  }

  #onExit(code: number | null, signal: NodeJS.Signals | null): void {
    if (!this.#isClosing) this.#ending ??= signal === null ? `exited with code ${code}` : `was killed by ${signal}`;
    // Descendants may keep the pipes open.
    const pid = this.#child?.pid;
    if (pid !== undefined) signalGroup(pid, "SIGKILL");
    setTimeout(() => this.#finish(), DRAIN_MS).unref();
  }

  #finish(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#line = [];
    const child = this.#child;
    if (child?.pid !== undefined) {
      // Also ends remaining descendants.
      signalGroup(child.pid, "SIGKILL");
      forgetGroup(child.pid);
    }
    child?.stdin.destroy();
    child?.stdout.destroy();
    child?.stderr.destroy();
    child?.unref();
    this.onclose?.();
  }

  /** Splits the output into lines. A long line is collected in parts and joined once. */
  #take(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(LINE_FEED); at >= 0 && !this.#isClosed; at = chunk.indexOf(LINE_FEED, from)) {
      this.#line.push(chunk.subarray(from, at));
      const line = Buffer.concat(this.#line).toString("utf8");
      this.#line = [];
      this.#lineBytes = 0;
      from = at + 1;
      this.#read(line);
    }
    if (this.#isClosed || from === chunk.length) return;
    this.#line.push(chunk.subarray(from));
    this.#lineBytes += chunk.length - from;
    if (this.#lineBytes > this.#options.maxMessageBytes)
      this.#giveUp(`sent a message of more than ${this.#options.maxMessageBytes} bytes`);
  }

  #read(line: string): void {
    if (line.trim() === "") return;
    let message;
    try {
      message = this.#options.decode(line);
    } catch {
      this.#ignoredLines += 1;
      if (this.#ignoredLines > this.#options.maxIgnoredLines)
        this.#giveUp(`printed more than ${this.#options.maxIgnoredLines} lines that are not messages`);
      return;
    }
    this.onmessage?.(message);
  }
}

function hasEnded({ exitCode, signalCode }: Child): boolean {
  return exitCode !== null || signalCode !== null;
}

function makeEnvironment(given: StdioServerConfig["env"] = {}): NodeJS.ProcessEnv {
  const passed = INHERITED_VARIABLES.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(passed), ...given };
}
