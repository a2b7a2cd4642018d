/**
 * One connection to an MCP server. The only module that uses the MCP SDK, which is loaded on first use. It does not
 * restart anything.
 *
 * Invariant: `onClose` is called once with the reason, unless the connection was never established or was closed by
 * `close`.
 */
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { type JsonObject, LoomError } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";
import { loadPackage } from "../../protocol/load-package.ts";
import { settleRequests } from "./settle-requests.ts";
import { ChildTransport } from "./child-transport.ts";
import { limitResponses } from "./limit-response.ts";
import type { HttpServerConfig, McpServerConfig, StdioServerConfig } from "./read-mcp-config.ts";
import { untilAborted } from "../../protocol/until-aborted.ts";
import { withTimeout } from "../../protocol/with-timeout.ts";

export interface McpConnectionOptions {
  readonly startTimeoutMs: number;
  readonly maxMessageBytes: number;
  readonly maxIgnoredLines: number;
  readonly graceMs: number;
  readonly onStderr: (text: string) => void;
  readonly onClose: (reason: string) => void;
}

export interface McpRequestSettings {
  readonly timeoutMs: number;
  /** Aborting it cancels the request on the server. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: number, total: number | undefined, message: string | undefined) => void;
  /** Receives the log messages of the server while the request is open. They do not name a request. */
  readonly onLog?: (log: McpLog) => void;
}

/** A log message of a server. */
export interface McpLog {
  readonly level: string;
  readonly logger?: string | undefined;
  readonly data: unknown;
}

export interface McpConnection {
  readonly ignoredLines: number;
  /** Sends a request and returns the result. Rejects with `mcp_failed`, `tool_timeout`, or the reason of the signal. */
  request(method: string, params: JsonObject, settings: McpRequestSettings): Promise<JsonObject>;
  close(): Promise<void>;
}

/** Time limit for ending the session of an HTTP server, in milliseconds. */
const END_SESSION_MS = 1000;
const CLOSED = "closed the connection";
const NAME = "@modelcontextprotocol/sdk";

export async function openMcpConnection(
  config: McpServerConfig,
  options: McpConnectionOptions,
  signal: AbortSignal,
): Promise<McpConnection> {
  const sdk = await loadSdk();
  signal.throwIfAborted();
  const client = new sdk.Client({ name: "loom-agent", version: "1" }, { capabilities: {} });
  const progress = listenToProgress(client, sdk);
  const logListeners = new Set<(log: McpLog) => void>();
  client.setNotificationHandler(sdk.LoggingMessageNotificationSchema, ({ params }) => {
    for (const listener of logListeners) listener(params);
  });
  const opened = "command" in config ? openChild(config, options, sdk) : openHttp(config, options, sdk);
  let state: "opening" | "open" | "closed" = "opening";
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK has no other API
  client.onclose = () => {
    if (state === "open") options.onClose(opened.describeEnd() ?? CLOSED);
    state = "closed";
  };
  const hasEnded = (): boolean => state === "closed";
  try {
    const limit = { timeout: options.startTimeoutMs };
    await waitForServer(options.startTimeoutMs, signal, () => client.connect(opened.transport, limit));
    if (hasEnded()) throw new LoomError("mcp_failed", opened.describeEnd() ?? CLOSED);
  } catch (error) {
    const failure = explain(error, opened.describeEnd());
    await opened.transport.close().catch(() => undefined);
    await client.close().catch(() => undefined);
    throw failure;
  }
  state = "open";
  // Some servers send no log without a level.
  if (client.getServerCapabilities()?.logging !== undefined) client.setLoggingLevel("info").catch(() => undefined);
  return {
    get ignoredLines() {
      return opened.countIgnored();
    },
    async request(method, params, { timeoutMs, signal: outer, onProgress, onLog }) {
      return waitForServer(timeoutMs, outer, async (inner) => {
        try {
          const token = onProgress === undefined ? undefined : progress.add(onProgress);
          // A new function, because two requests may have the same listener.
          const listener = (log: McpLog): void => onLog?.(log);
          logListeners.add(listener);
          try {
            const sent = token === undefined ? params : { ...params, _meta: { progressToken: token } };
            const answer: unknown = await client.request({ method, params: sent }, sdk.ResultSchema, {
              signal: inner,
              // Longer than our own timeout, which can tell a timeout from an abort.
              timeout: timeoutMs + END_SESSION_MS,
            });
            return isJsonObject(answer) ? answer : {};
          } finally {
            logListeners.delete(listener);
            if (token !== undefined) progress.remove(token);
          }
        } catch (error) {
          inner.throwIfAborted();
          throw explain(error, hasEnded() ? (opened.describeEnd() ?? CLOSED) : undefined);
        }
      });
    },
    async close() {
      state = "closed";
      await opened.endSession();
      await opened.transport.close();
      await client.close();
    },
  };
}

type ProgressListener = NonNullable<McpRequestSettings["onProgress"]>;

/**
 * Delivers progress notifications. The SDK removes its own listeners when the response arrives, and loses progress that
 * came just before it.
 */
function listenToProgress(
  client: InstanceType<Sdk["Client"]>,
  { ProgressNotificationSchema }: Sdk,
): { add(listener: ProgressListener): number; remove(token: number): void } {
  const listeners = new Map<unknown, ProgressListener>();
  let last = 0;
  client.setNotificationHandler(ProgressNotificationSchema, ({ params }) => {
    listeners.get(params.progressToken)?.(params.progress, params.total, params.message);
  });
  return {
    add(listener) {
      last += 1;
      listeners.set(last, listener);
      return last;
    },
    remove: (token) => void listeners.delete(token),
  };
}

/** A transport and its state. */
interface OpenedTransport {
  readonly transport: Transport;
  describeEnd(): string | undefined;
  countIgnored(): number;
  endSession(): Promise<void>;
}

function openChild(config: StdioServerConfig, options: McpConnectionOptions, sdk: Sdk): OpenedTransport {
  const transport = new ChildTransport({ ...config, ...options, decode: sdk.deserializeMessage });
  return {
    transport,
    describeEnd: () => transport.ending,
    countIgnored: () => transport.ignoredLines,
    endSession: async () => undefined,
  };
}

function openHttp({ url, headers = {} }: HttpServerConfig, options: McpConnectionOptions, sdk: Sdk): OpenedTransport {
  let ending: string | undefined;
  const giveUp = (): void => {
    ending = `sent a message of more than ${options.maxMessageBytes} bytes`;
    void transport.close();
  };
  const transport = new sdk.StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers },
    fetch: settleRequests(limitResponses(options.maxMessageBytes, giveUp)),
  });
  return {
    transport,
    describeEnd: () => ending,
    countIgnored: () => 0,
    endSession: async () =>
      untilAborted(transport.terminateSession(), AbortSignal.timeout(END_SESSION_MS)).catch(() => undefined),
  };
}

/**
 * Converts an SDK error. `details.is_lost`: the connection is unusable. `details.is_undone`: the server did not process
 * the request, because it does not know the session.
 */
function explain(error: unknown, ending: string | undefined): LoomError {
  if (error instanceof LoomError) return error;
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  const fail = (words: string, details: JsonObject): LoomError =>
    new LoomError("mcp_failed", words, details, { cause: error });
  if (ending !== undefined) return fail(ending, { is_lost: true });
  const words = typeof message === "string" && message !== "" ? message : "failed";
  if (typeof code === "number" && code > 0) {
    const isSessionLost = code === 404 || (code === 400 && /session/i.test(words));
    return fail(`responded with HTTP ${code}`, isSessionLost ? { is_lost: true, is_undone: true } : {});
  }
  // Network errors have their code in `cause`; their message is only "fetch failed".
  const cause: unknown =
    error instanceof Error && error.cause instanceof Error && "code" in error.cause ? error.cause.code : "";
  return typeof cause === "string" && cause !== ""
    ? fail(`could not be reached (${cause})`, { is_lost: true })
    : fail(words, {});
}

/** Rejects with `tool_timeout` after the timeout, or with the reason of `signal` if it aborts. */
async function waitForServer<T>(
  timeoutMs: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = (): Error => new LoomError("tool_timeout", `did not respond within ${timeoutMs} ms`);
  return withTimeout({ timeoutMs, late, signal }, work);
}

type Sdk = Awaited<ReturnType<typeof importSdk>>;

async function importSdk() {
  const [{ Client }, { StreamableHTTPClientTransport }, types, { deserializeMessage }] = await Promise.all([
    import("@modelcontextprotocol/sdk/client/index.js"),
    import("@modelcontextprotocol/sdk/client/streamableHttp.js"),
    import("@modelcontextprotocol/sdk/types.js"),
    import("@modelcontextprotocol/sdk/shared/stdio.js"),
  ]);
  const { LoggingMessageNotificationSchema, ProgressNotificationSchema, ResultSchema } = types;
  return {
    Client,
    StreamableHTTPClientTransport,
    LoggingMessageNotificationSchema,
    ProgressNotificationSchema,
    ResultSchema,
    deserializeMessage,
  };
}

/**
 * Throws `missing_package` if the MCP SDK is not installed.
 *
 * @internal
 */
export function loadSdk(): Promise<Sdk> {
  return loadPackage(NAME, "to use MCP servers", importSdk);
}
