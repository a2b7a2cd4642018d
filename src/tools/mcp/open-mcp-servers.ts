/**
 * MCP servers, mounted as tools. All are started side by side; one that fails has its status say so, and takes nothing
 * down. The tools are those the servers had when they were opened: a model's tools do not change under its run.
 */
import { describeValue, LoomError } from "../../protocol/index.ts";
import { dropUndefined } from "../drop-undefined.ts";
import type { Tool } from "../tool.ts";
import { createMcpTool, type McpApproval, type McpToolSettings } from "./create-mcp-tool.ts";
import { loadSdk } from "./mcp-connection.ts";
import { McpServer, type McpServerLimits, type McpServerStatus } from "./mcp-server.ts";
import { ToolNames } from "./name-tools.ts";
import { type McpConfig, parseMcpConfig } from "./read-mcp-config.ts";

export interface McpOptions extends Partial<McpServerLimits> {
  /** When the user must agree; `by-hints` when absent: unless the tool only reads, as its server says. */
  readonly approval?: McpApproval;
  /** Told what a server writes to its standard error. */
  readonly onStderr?: (server: string, text: string) => void;
  /** Code `mcp_failed`. */
  readonly maxServers?: number;
  readonly maxDescriptionCharacters?: number;
  /** A tool with a larger schema is left out. */
  readonly maxSchemaCharacters?: number;
  /** Of one image, in base64; a larger one is not shown. */
  readonly maxImageCharacters?: number;
}

export interface McpServers extends AsyncDisposable {
  readonly tools: readonly Tool[];
  /** How the servers are now. */
  readonly servers: readonly McpServerStatus[];
  /** Ends all servers and what they have started. */
  close(): Promise<void>;
}

const DEFAULT_LIMITS: McpServerLimits = {
  startTimeoutMs: 20_000,
  callTimeoutMs: 60_000,
  pingTimeoutMs: 5000,
  maxRestarts: 5,
  restartMs: 250,
  forgiveMs: 60_000,
  maxTools: 128,
  maxMessageBytes: 8 * 1024 * 1024,
  maxIgnoredLines: 10_000,
  maxStderrBytes: 1024 * 1024,
  graceMs: 500,
};

const DEFAULT_SETTINGS: Omit<McpToolSettings, "timeoutMs"> = {
  approval: "by-hints",
  maxDescriptionCharacters: 2000,
  maxSchemaCharacters: 64 * 1024,
  maxImageCharacters: 512 * 1024,
};

const MAX_SERVERS = 32;
/** So that the server's own limits, which know more to say, come first. */
const GRACE_MS = 1000;
/** A timer's longest is more than three of these. */
const MAX_LIMIT = 2 ** 29;

/** Rejects only for a configuration that is wrong (`mcp_failed`) and where the library is missing (`missing_package`). */
export async function openMcpServers(config: McpConfig, options: McpOptions = {}): Promise<McpServers> {
  const { onStderr, maxServers = MAX_SERVERS, ...others } = options;
  const given = dropUndefined(others);
  const limits = { ...DEFAULT_LIMITS, ...given };
  const timeoutMs = limits.startTimeoutMs + limits.callTimeoutMs + GRACE_MS;
  const settings: McpToolSettings = { ...DEFAULT_SETTINGS, ...given, timeoutMs };
  assertSettings({ ...limits, ...settings, maxServers });
  const entries = Object.entries(parseMcpConfig(config).mcpServers);
  if (entries.length > maxServers)
    throw new LoomError("mcp_failed", `There are ${entries.length} MCP servers; at most ${maxServers} are opened.`);
  if (entries.length > 0) await loadSdk();

  const servers = entries.map(
    ([name, server]) => new McpServer(name, server, limits, (text) => onStderr?.(name, text)),
  );
  const lists = await Promise.all(servers.map(async (server) => server.list()));
  const names = new ToolNames();
  const tools = servers.flatMap((server, index) => {
    const declared = lists[index] ?? [];
    const giveName = (tool: string): string => names.give(server.name, tool);
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

/** A word that nobody knows must not mean that nobody is asked, nor a number that is none that there is no limit. */
function assertSettings({ approval, ...limits }: McpToolSettings & McpServerLimits & { maxServers: number }): void {
  if (typeof approval !== "function" && !["never", "always", "by-hints"].includes(approval))
    throw new LoomError(
      "mcp_failed",
      `\`approval\` must be "never", "always", "by-hints" or a function, not ${describeValue(approval)}.`,
    );
  const numbers = { ...DEFAULT_LIMITS, ...DEFAULT_SETTINGS, maxServers: 0 };
  for (const [name, value] of Object.entries(limits))
    if (name in numbers && !(Number.isInteger(value) && value >= 0 && value <= MAX_LIMIT))
      throw new LoomError("mcp_failed", `\`${name}\` must be a whole number from 0 to ${MAX_LIMIT}.`);
}
