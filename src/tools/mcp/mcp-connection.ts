/**
 * One connection to an MCP server, from its start to its end. It is the only place that speaks the library's words, and
 * loads it when it is first needed. It starts nothing again: that is for the server that holds it.
 *
 * Invariant: `onClose` is told once, with the reason, unless the connection never came about.
 */
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { isJsonObject, type JsonObject, LoomError } from "../../protocol/index.ts";
import { loadPackage } from "../../protocol/load-package.ts";
import { untilAborted } from "../until-aborted.ts";
import { answerRequests } from "./answer-requests.ts";
import { ChildTransport } from "./child-transport.ts";
import { limitResponses } from "./limit-response.ts";
import type { HttpServerConfig, McpServerConfig, StdioServerConfig } from "./read-mcp-config.ts";

export interface ConnectionOptions {
  readonly startTimeoutMs: number;
  readonly maxMessageBytes: number;
  readonly maxIgnoredLines: number;
  readonly graceMs: number;
  readonly onStderr: (text: string) => void;
  readonly onClose: (reason: string) => void;
}

export interface RequestSettings {
  readonly timeoutMs: number;
  /** Aborted: the server is told that nobody waits any more. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: number, total: number | undefined, message: string | undefined) => void;
}

export interface McpConnection {
  readonly ignoredLines: number;
  /** The server's answer. Rejects with `mcp_failed`, `tool_timeout`, or the reason of the signal. */
  request(method: string, params: JsonObject, settings: RequestSettings): Promise<JsonObject>;
  close(): Promise<void>;
}

/** How long a server over HTTP may take to hear that its session is over. */
const FAREWELL_MS = 1000;
const CLOSED = "closed the connection";
const NAME = "@modelcontextprotocol/sdk";

export async function openMcpConnection(
  config: McpServerConfig,
  options: ConnectionOptions,
  signal: AbortSignal,
): Promise<McpConnection> {
  const sdk = await loadSdk();
  signal.throwIfAborted();
  const client = new sdk.Client({ name: "loom-agent", version: "1" }, { capabilities: {} });
  const progress = listenToProgress(client, sdk);
  const opened = "command" in config ? openChild(config, options, sdk) : openHttp(config, options, sdk);
  let life: "opening" | "open" | "closed" = "opening";
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- it has no other way
  client.onclose = () => {
    if (life === "open") options.onClose(opened.describeEnd() ?? CLOSED);
    life = "closed";
  };
  const hasEnded = (): boolean => life === "closed";
  try {
    const limit = { timeout: options.startTimeoutMs };
    await withTimeout(options.startTimeoutMs, signal, async (inner) =>
      untilAborted(client.connect(opened.transport, limit), inner),
    );
    if (hasEnded()) throw new LoomError("mcp_failed", opened.describeEnd() ?? CLOSED);
  } catch (error) {
    const failure = explain(error, opened.describeEnd());
    await opened.transport.close().catch(() => undefined);
    await client.close().catch(() => undefined);
    throw failure;
  }
  life = "open";
  return {
    get ignoredLines() {
      return opened.countIgnored();
    },
    async request(method, params, { timeoutMs, signal: outer, onProgress }) {
      return withTimeout(timeoutMs, outer, async (inner) => {
        try {
          const token = onProgress === undefined ? undefined : progress.add(onProgress);
          try {
            const sent = token === undefined ? params : { ...params, _meta: { progressToken: token } };
            const answer: unknown = await client.request({ method, params: sent }, sdk.ResultSchema, {
              signal: inner,
              // Ours comes first, because it can tell time from abort.
              timeout: timeoutMs + FAREWELL_MS,
            });
            return isJsonObject(answer) ? answer : {};
          } finally {
            if (token !== undefined) progress.remove(token);
          }
        } catch (error) {
          inner.throwIfAborted();
          throw explain(error, hasEnded() ? (opened.describeEnd() ?? CLOSED) : undefined);
        }
      });
    },
    async close() {
      life = "closed";
      await opened.sayGoodbye();
      await opened.transport.close();
      await client.close();
    },
  };
}

type ProgressListener = NonNullable<RequestSettings["onProgress"]>;

/** The library's own listeners are gone when the answer comes, and with them the progress that came just before it. */
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

/** Something that carries messages, and what can be asked of it. */
interface Opened {
  readonly transport: Transport;
  describeEnd(): string | undefined;
  countIgnored(): number;
  sayGoodbye(): Promise<void>;
}

function openChild(config: StdioServerConfig, options: ConnectionOptions, sdk: Sdk): Opened {
  const transport = new ChildTransport({ ...config, ...options, decode: sdk.deserializeMessage });
  return {
    transport,
    describeEnd: () => transport.ending,
    countIgnored: () => transport.ignoredLines,
    sayGoodbye: async () => undefined,
  };
}

function openHttp({ url, headers = {} }: HttpServerConfig, options: ConnectionOptions, sdk: Sdk): Opened {
  let ending: string | undefined;
  const giveUp = (): void => {
    ending = `sent a message of more than ${options.maxMessageBytes} bytes`;
    void transport.close();
  };
  const transport = new sdk.StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers },
    fetch: answerRequests(limitResponses(options.maxMessageBytes, giveUp)),
  });
  return {
    transport,
    describeEnd: () => ending,
    countIgnored: () => 0,
    sayGoodbye: async () =>
      untilAborted(transport.terminateSession(), AbortSignal.timeout(FAREWELL_MS)).catch(() => undefined),
  };
}

/**
 * `details.is_lost`: the connection is of no use any more. `details.is_undone`: what was asked was not even looked at,
 * because the server does not know our session.
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
    return fail(`answered with HTTP ${code}`, isSessionLost ? { is_lost: true, is_undone: true } : {});
  }
  // A network that fails says so in a cause; its own words are "fetch failed".
  const cause: unknown =
    error instanceof Error && error.cause instanceof Error && "code" in error.cause ? error.cause.code : "";
  return typeof cause === "string" && cause !== ""
    ? fail(`could not be reached (${cause})`, { is_lost: true })
    : fail(words, {});
}

/** Rejects with `tool_timeout` when the time is over, with the reason of `outer` when that is aborted. */
async function withTimeout<T>(
  timeoutMs: number,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  outer?.throwIfAborted();
  // A signal of its own: the library leaves its listeners behind.
  const controller = new AbortController();
  const stop = (): void => controller.abort(outer?.reason);
  outer?.addEventListener("abort", stop, { once: true });
  const late = new LoomError("tool_timeout", `did not answer within ${timeoutMs} ms`);
  const timer = setTimeout(() => controller.abort(late), timeoutMs);
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener("abort", stop);
  }
}

type Sdk = Awaited<ReturnType<typeof importSdk>>;

async function importSdk() {
  const [{ Client }, { StreamableHTTPClientTransport }, types, { deserializeMessage }] = await Promise.all([
    import("@modelcontextprotocol/sdk/client/index.js"),
    import("@modelcontextprotocol/sdk/client/streamableHttp.js"),
    import("@modelcontextprotocol/sdk/types.js"),
    import("@modelcontextprotocol/sdk/shared/stdio.js"),
  ]);
  const { ProgressNotificationSchema, ResultSchema } = types;
  return { Client, StreamableHTTPClientTransport, ProgressNotificationSchema, ResultSchema, deserializeMessage };
}

/** Throws `missing_package`. */
export function loadSdk(): Promise<Sdk> {
  return loadPackage(NAME, "to use MCP servers", importSdk);
}
