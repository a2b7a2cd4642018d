/**
 * Creates a `Tool` from a tool of an MCP server. Limits what the server declares, and decides about approval by the
 * hints of the tool or by the option.
 */
import type { JsonObject } from "../../protocol/index.ts";
import { isDeeperThan, isJsonObject } from "../../protocol/json.ts";
import type { Tool, ToolContext } from "../tool.ts";
import type { McpLog } from "./mcp-connection.ts";
import type { McpServer } from "./mcp-server.ts";
import { readMcpResult } from "./read-mcp-result.ts";
import { showImages } from "./show-images.ts";
import { shorten } from "../../protocol/cut-text.ts";

/** What a server declares about a tool, for decisions about approval. */
export interface McpToolHints {
  /** Name of the server. */
  readonly server: string;
  /** Name of the tool on the server. */
  readonly tool: string;
  /** True if the server declares that the tool changes nothing. */
  readonly readOnly: boolean;
  /** True unless the server declares otherwise. */
  readonly destructive: boolean;
}

/**
 * When the user must approve a call. `by-hints` requires approval unless the server declares the tool as read-only. A
 * function receives the hints and the arguments.
 */
export type McpApproval =
  | "never"
  | "always"
  | "by-hints"
  | ((hints: McpToolHints, input: JsonObject) => boolean | Promise<boolean>);

export interface McpToolSettings {
  readonly approval: McpApproval;
  readonly timeoutMs: number;
  readonly maxSchemaCharacters: number;
  readonly maxImageCharacters: number;
}

const MAX_SCHEMA_DEPTH = 64;
const MAX_TOOL_NAME = 256;
/** Characters of a title or description; the rest is cut. */
const MAX_DESCRIPTION = 2000;
/** Base64 characters of an image saved as a blob: 32 MiB. */
const MAX_BLOB_CHARACTERS = 45_000_000;
/** Characters before the data in a data URL. */
const MAX_DATA_PREFIX = 100;
/** Progress reports of one call; a server can send any number. */
const MAX_REPORTS = 500;
/** Log messages shown for one call, and their length. */
const MAX_LOGS = 100;
const MAX_LOG_CHARACTERS = 2000;

/** Returns undefined if no model could call the declared tool. */
export function createMcpTool(
  server: McpServer,
  declared: unknown,
  giveName: (tool: string) => string,
  settings: McpToolSettings,
): Tool | undefined {
  if (!isJsonObject(declared)) return undefined;
  const { name: tool, description, title, annotations, execution } = declared;
  const inputSchema = readSchema(declared["inputSchema"], settings.maxSchemaCharacters);
  if (typeof tool !== "string" || tool === "" || tool.length > MAX_TOOL_NAME || inputSchema === undefined)
    return undefined;
  // Tools that require MCP tasks are not supported.
  if (isJsonObject(execution) && execution["taskSupport"] === "required") return undefined;
  const hinted = isJsonObject(annotations) ? annotations : {};
  const displayTitle = [title, hinted["title"]].find(isNotBlank)?.toWellFormed();
  const text = isNotBlank(description) ? description.toWellFormed() : (displayTitle ?? tool.toWellFormed());
  const hints: McpToolHints = {
    server: server.name,
    tool,
    readOnly: hinted["readOnlyHint"] === true,
    destructive: hinted["readOnlyHint"] !== true && hinted["destructiveHint"] !== false,
  };
  return {
    name: giveName(tool),
    server: server.name,
    ...(displayTitle === undefined ? {} : { title: shorten(displayTitle, MAX_DESCRIPTION) }),
    description: shorten(text, MAX_DESCRIPTION),
    inputSchema,
    timeoutMs: settings.timeoutMs,
    // Never idempotent, not even if read-only: images would be shown twice.
    // The server validates the arguments itself.
    validate: async (input) => ({ ok: true, value: input }),
    needsApproval: (input) => decide(settings.approval, hints, input as JsonObject),
    execute: async (input, { signal, report, show, ready, saveBlob }) => {
      const answer = await server.call({ name: tool, arguments: input as JsonObject }, signal, {
        onProgress: limitReports(report),
        onLog: limitLogs(server, show),
      });
      const { maxImageCharacters } = settings;
      // With a blob store, only the size of the response limits an image.
      const limits = { maxImageCharacters: saveBlob === undefined ? maxImageCharacters : MAX_BLOB_CHARACTERS };
      const { result, images } = readMcpResult(answer, limits, (text) => server.redact(text));
      const missed = await showImages(images, maxImageCharacters + MAX_DATA_PREFIX, { show, ready, saveBlob });
      return missed === 0 ? result : { ...result, text: `${result.text}\n[${missed} images could not be shown]` };
    },
  };
}

function isNotBlank(text: unknown): text is string {
  return typeof text === "string" && text.trim() !== "";
}

function decide(approval: McpApproval, hints: McpToolHints, input: JsonObject): boolean | Promise<boolean> {
  if (typeof approval === "function") return approval(hints, input);
  return approval === "by-hints" ? !hints.readOnly : approval !== "never";
}

function readSchema(value: unknown, maxCharacters: number): JsonObject | undefined {
  if (value === undefined) return { type: "object" };
  if (!isJsonObject(value) || isDeeperThan(value, MAX_SCHEMA_DEPTH)) return undefined;
  if (value["type"] !== undefined && value["type"] !== "object") return undefined;
  if (JSON.stringify(value).length > maxCharacters) return undefined;
  const { $schema: _, ...schema } = value;
  return { ...schema, type: "object" };
}

/** Shows log messages of the server as `custom` events. */
function limitLogs(server: McpServer, show: ToolContext["show"]): (log: McpLog) => void {
  let left = MAX_LOGS;
  return ({ level, logger, data }) => {
    if (left === 0) return;
    left -= 1;
    const text = typeof data === "string" ? data : JSON.stringify(data);
    const about = logger === undefined ? {} : { logger: shorten(logger.toWellFormed(), 100) };
    const message = shorten(server.redact(text).toWellFormed(), MAX_LOG_CHARACTERS);
    show({ type: "custom", value: { mcp_log: { server: server.name, level, ...about, message } } });
  };
}

/** Reports progress in percent if the server sends a total, and messages in any case. */
function limitReports(
  report: (progress: number, message?: string) => void,
): (progress: number, total: number | undefined, message: string | undefined) => void {
  let last = 0;
  let lastMessage: string | undefined;
  let reports = 0;
  return (progress, total, message) => {
    const share = total !== undefined && total > 0 ? (100 * progress) / total : last;
    const percent = Number.isFinite(share) ? Math.round(Math.min(100, Math.max(0, share))) : last;
    const text = message === undefined ? undefined : shorten(message.toWellFormed(), 500);
    const isNews = percent !== last || text !== lastMessage || reports === 0;
    if (!isNews || reports >= MAX_REPORTS) return;
    reports += 1;
    last = percent;
    lastMessage = text;
    report(percent, text);
  };
}
