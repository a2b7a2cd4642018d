/**
 * A tool of an MCP server as one of ours. What the server says about its tool is used, and bounded; whether the user must
 * agree is decided here, by its hints where they may be trusted.
 */
import { isDeeperThan, isJsonObject, type JsonObject } from "../../protocol/index.ts";
import { shorten } from "../describe-failure.ts";
import type { Tool } from "../tool.ts";
import type { McpServer } from "./mcp-server.ts";
import { readMcpResult } from "./read-mcp-result.ts";
import { showImages } from "./show-images.ts";

/** What a tool says about itself that matters for approval. */
export interface McpToolHints {
  /** The server's name. */
  readonly server: string;
  /** As the server calls it. */
  readonly tool: string;
  readonly readOnly: boolean;
  /** True also where the server does not say. */
  readonly destructive: boolean;
}

/** When the user must agree. `by-hints`: unless the tool only reads, as its server says. */
export type McpApproval =
  | "never"
  | "always"
  | "by-hints"
  | ((hints: McpToolHints, input: JsonObject) => boolean | Promise<boolean>);

export interface McpToolSettings {
  readonly approval: McpApproval;
  readonly timeoutMs: number;
  readonly maxDescriptionCharacters: number;
  readonly maxSchemaCharacters: number;
  readonly maxImageCharacters: number;
}

const MAX_SCHEMA_DEPTH = 64;
const MAX_TOOL_NAME = 256;
/** Characters of an image that is kept as a blob: 32 MiB in base64. */
const MAX_KEPT_CHARACTERS = 45_000_000;
/** What stands before the data in its address. */
const MAX_DATA_PREFIX = 100;
/** Reports of one call; progress may come as fast as the server can print. */
const MAX_REPORTS = 500;

/** Undefined for what is declared in a way that no model could call. */
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
  // It answers only to those who come back later for the result.
  if (isJsonObject(execution) && execution["taskSupport"] === "required") return undefined;
  const said = isJsonObject(annotations) ? annotations : {};
  const called = [title, said["title"]].find(saysSomething);
  const words = saysSomething(description) ? description : (called ?? tool);
  const hints: McpToolHints = {
    server: server.name,
    tool,
    readOnly: said["readOnlyHint"] === true,
    destructive: said["readOnlyHint"] !== true && said["destructiveHint"] !== false,
  };
  return {
    name: giveName(tool),
    ...(called === undefined ? {} : { title: shorten(called, settings.maxDescriptionCharacters) }),
    description: shorten(words, settings.maxDescriptionCharacters),
    inputSchema,
    timeoutMs: settings.timeoutMs,
    // None is to be run twice, not even one that only reads: what it shows would be shown twice.
    // The server knows its schema best, and says what is wrong.
    validate: async (input) => ({ ok: true, value: input }),
    needsApproval: (input) => decide(settings.approval, hints, input as JsonObject),
    execute: async (input, { signal, report, show, ready, saveBlob }) => {
      const reportProgress = limitReports(report);
      const answer = await server.call({ name: tool, arguments: input as JsonObject }, signal, reportProgress);
      const { maxImageCharacters } = settings;
      // Where large ones are kept, the answer itself is limit enough.
      const limits = { maxImageCharacters: saveBlob === undefined ? maxImageCharacters : MAX_KEPT_CHARACTERS };
      const { result, images } = readMcpResult(answer, limits, (text) => server.redact(text));
      const missed = await showImages(images, maxImageCharacters + MAX_DATA_PREFIX, { show, ready, saveBlob });
      return missed === 0
        ? result
        : { ...result, text: `${result.text}\n[${missed} of the images could not be shown]` };
    },
  };
}

function saysSomething(text: unknown): text is string {
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

/** Progress in percent, where the server says of how much; its words in any case. */
function limitReports(
  report: (progress: number, message?: string) => void,
): (progress: number, total: number | undefined, message: string | undefined) => void {
  let last = 0;
  let lastMessage: string | undefined;
  let reports = 0;
  return (progress, total, message) => {
    const share = total !== undefined && total > 0 ? (100 * progress) / total : last;
    const percent = Number.isFinite(share) ? Math.round(Math.min(100, Math.max(0, share))) : last;
    const words = message === undefined ? undefined : shorten(message, 500);
    const isNews = percent !== last || words !== lastMessage || reports === 0;
    if (!isNews || reports >= MAX_REPORTS) return;
    reports += 1;
    last = percent;
    lastMessage = words;
    report(percent, words);
  };
}
