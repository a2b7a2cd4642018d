/**
 * Opens MCP servers and provides their tools. Servers start in parallel; one that fails reports an error in its status
 * and does not affect the others. The list of tools is fixed when the servers are opened.
 */
import { LoomError } from "../../protocol/index.ts";
import {
  acceptInteger,
  FUNCTION_OPTION,
  type OptionTable,
  orElse,
  readOptions,
  withDefault,
} from "../../protocol/read-options.ts";
import type { Tool } from "../tool.ts";
import { createMcpTool, type McpApproval } from "./create-mcp-tool.ts";
import { loadSdk } from "./mcp-connection.ts";
import { McpServer, type McpServerStatus } from "./mcp-server.ts";
import { ToolNames } from "./name-tools.ts";
import { type McpConfig, parseMcpConfig } from "./read-mcp-config.ts";

/** Options of `openMcpServers`. */
export interface McpOptions {
  /**
   * When the user must approve a call. Default: `by-hints`, which requires approval unless the server declares the tool
   * as read-only.
   */
  readonly approval?: McpApproval;
  /** Receives the standard error of servers. Default: it is discarded. */
  readonly onStderr?: (server: string, text: string) => void;
  /** Time limit for starting a server, and for listing its tools, in milliseconds. Default: 20,000. */
  readonly startTimeoutMs?: number;
  /** Time limit of a tool call, in milliseconds. Default: 60,000. Code `tool_timeout`. */
  readonly callTimeoutMs?: number;
  /**
   * Consecutive failures after which a local server is not restarted for a minute. Servers at a URL are always tried
   * again. Default: 5. Code `mcp_failed`.
   */
  readonly maxRestarts?: number;
  /** Maximum number of tools per server; further ones are left out. Default: 128. */
  readonly maxTools?: number;
}

/** Open MCP servers and their tools. */
export interface McpServers extends AsyncDisposable {
  /** Tools of all servers, with names of the form `server__tool`. */
  readonly tools: readonly Tool[];
  /** Current status of each server. */
  readonly servers: readonly McpServerStatus[];
  /** Ends all servers and the processes they started. */
  close(): Promise<void>;
}

/** Small enough that the sum of several limits is a valid timer delay. */
const LIMIT = acceptInteger(0, 2 ** 29);

/** An unknown policy must not disable approval, and an invalid number must not disable a limit. */
const OPTIONS = {
  approval: withDefault<McpApproval>(orElse(FUNCTION_OPTION, '"never", "always", "by-hints"', isPolicy), "by-hints"),
  onStderr: FUNCTION_OPTION,
  startTimeoutMs: withDefault(LIMIT, 20_000),
  callTimeoutMs: withDefault(LIMIT, 60_000),
  maxRestarts: withDefault(LIMIT, 5),
  maxTools: withDefault(LIMIT, 128),
} as const satisfies OptionTable<McpOptions>;

const FIXED_LIMITS = {
  pingTimeoutMs: 5000,
  restartMs: 250,
  forgiveMs: 60_000,
  maxMessageBytes: 8 * 1024 * 1024,
  maxIgnoredLines: 10_000,
  maxStderrBytes: 1024 * 1024,
  graceMs: 500,
  maxSchemaCharacters: 64 * 1024,
  maxImageCharacters: 512 * 1024,
};

/** Code `mcp_failed`. */
const MAX_SERVERS = 32;
/** Lets the limits of the server fire before the timeout of the tool, because their messages are more specific. */
const GRACE_MS = 1000;

/**
 * Opens MCP servers and returns their tools, to pass to an agent. Close them when they are no longer needed.
 *
 * ```ts
 * await using mcp = await openMcpServers(await readMcpConfig("mcp.json"));
 * const helper = agent({ provider: "openai", model: "gpt-5", tools: mcp.tools });
 * ```
 *
 * Rejects with `mcp_failed` if the configuration or an option is invalid, and with `missing_package` if the MCP SDK is
 * not installed. A server that cannot be started does not reject; see `servers`.
 */
export async function openMcpServers(config: McpConfig, options: McpOptions = {}): Promise<McpServers> {
  return openServers(config, options);
}

/** Like `openMcpServers`. Tests set the limits that have no option. */
export async function openServers(
  config: McpConfig,
  options: McpOptions,
  fixed: Partial<typeof FIXED_LIMITS> = {},
): Promise<McpServers> {
  const { onStderr } = options;
  const limits = { ...FIXED_LIMITS, ...fixed, ...readOptions(OPTIONS, options, { code: "mcp_failed" }) };
  const settings = { ...limits, timeoutMs: limits.startTimeoutMs + limits.callTimeoutMs + GRACE_MS };
  const entries = Object.entries(parseMcpConfig(config).mcpServers);
  if (entries.length > MAX_SERVERS)
    throw new LoomError(
      "mcp_failed",
      `${entries.length} MCP servers are configured; at most ${MAX_SERVERS} are allowed`,
    );
  if (entries.length > 0) await loadSdk();

  const servers = entries.map(
    ([name, server]) => new McpServer(name, server, limits, (text) => onStderr?.(name, text)),
  );
  const lists = await Promise.all(servers.map(async (server) => server.list()));
  const names = new ToolNames();
  const tools = servers.flatMap((server, index) => {
    const declared = lists[index] ?? [];
    const giveName = (tool: string): string => names.assign(server.name, tool);
    const made = declared.flatMap((one) => createMcpTool(server, one, giveName, settings) ?? []);
    server.setTools(made.length, declared.length - made.length);
    return made;
  });
  const close = async (): Promise<void> => {
    await Promise.all(servers.map(async (server) => server.close()));
  };
  return {
    tools,
    get servers() {
      return servers.map(({ status }) => status);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function isPolicy(value: unknown): value is "never" | "always" | "by-hints" {
  return value === "never" || value === "always" || value === "by-hints";
}
