/**
 * Opens the model, tools and knowledge base that the agents of a command share. Tools that reach outside are enabled
 * only by an option. This module does not know agents.
 */
import { stat } from "node:fs/promises";
import { type LanguageModel, OfflineModel } from "../models/index.ts";
import { parseModelName, resolveModel } from "../models/resolve-model.ts";
import { dropUndefined } from "../protocol/drop-undefined.ts";
import { isLoomError } from "../protocol/index.ts";
import { createBuiltinTools } from "../tools/builtin-tools.ts";
import { createFetchTool } from "../tools/fetch/create-fetch-tool.ts";
import { createFileTools } from "../tools/files/create-file-tools.ts";
import type { McpServers, Tool } from "../tools/index.ts";
import { createKnowledgeTool } from "../tools/knowledge-tool.ts";
import { CliError } from "./command.ts";
import { hideCredentials } from "./find-store.ts";
import { plural } from "./fit-text.ts";
import { assertKnowledgeBaseExists, type KnowledgeChoice, type SharedStore } from "./kb/default-knowledge-base.ts";
import { LazyKnowledgeBase } from "./kb/lazy-knowledge-base.ts";

export interface AgentResourcesOptions {
  readonly model: string;
  readonly baseURL: string | undefined;
  readonly apiKey?: string | undefined;
  /** Delay before each word of the offline model in milliseconds; default: 0. */
  readonly offlineDelayMs?: number | undefined;
  readonly workspace: string | undefined;
  readonly mcp: string | undefined;
  readonly allowFetch: boolean;
  /** Undefined: no knowledge base. `isAutomatic`: searched for every message instead of being offered as a tool. */
  readonly knowledge: (KnowledgeChoice & { readonly isAutomatic: boolean }) | undefined;
}

export interface ResourceContext {
  readonly onWarning: (warning: string) => void;
  /** The store of the sessions. */
  readonly store: SharedStore;
}

/** Disposing stops the MCP servers and closes the knowledge base. */
export interface AgentResources extends AsyncDisposable {
  readonly model: LanguageModel;
  readonly tools: readonly Tool[];
  /** Set for both ways of searching. */
  readonly knowledge: LazyKnowledgeBase | undefined;
  /** Set if the knowledge base is searched for every message. */
  readonly retriever: LazyKnowledgeBase | undefined;
  /** Problems of MCP servers. */
  readonly warnings: readonly string[];
}

/** Throws if the model is not available, the workspace is not a folder, or the MCP configuration is invalid. */
export async function openAgentResources(
  options: AgentResourcesOptions,
  context: ResourceContext,
): Promise<AgentResources> {
  const { workspace, allowFetch, knowledge } = options;
  const model = await openModel(options);
  if (workspace !== undefined) await assertFolder(workspace);
  const servers = options.mcp === undefined ? undefined : await openServers(options.mcp);
  const base = openKnowledge(knowledge, context);
  const isAutomatic = knowledge?.isAutomatic === true;
  return {
    model,
    tools: [
      ...createBuiltinTools(),
      ...(workspace === undefined ? [] : createFileTools(workspace)),
      ...(allowFetch ? [createFetchTool()] : []),
      // Tool and retriever would number the same passages twice.
      ...(base === undefined || isAutomatic ? [] : [createKnowledgeTool(base)]),
      ...(servers?.tools ?? []),
    ],
    knowledge: base,
    retriever: isAutomatic ? base : undefined,
    warnings: servers === undefined ? [] : describeServers(servers),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([servers?.close(), base?.[Symbol.asyncDispose]()]);
    },
  };
}

/** Throws `unknown_model`, `missing_key` or `missing_package`. */
export async function openModel(
  options: Pick<AgentResourcesOptions, "model" | "baseURL" | "apiKey" | "offlineDelayMs">,
): Promise<LanguageModel> {
  const { baseURL, apiKey, offlineDelayMs: delayMs = 0 } = options;
  const name = parseModelName(options.model);
  if (name.provider === "offline" && delayMs > 0) return new OfflineModel({ delayMs });
  return resolveModel({ ...name, ...dropUndefined({ baseURL, apiKey }) });
}

async function openServers(config: string): Promise<McpServers> {
  // Loaded on demand: most agents have no MCP servers.
  const { openMcpServers, readMcpConfig } = await import("../tools/index.ts");
  return openMcpServers(await readMcpConfig(config));
}

/** Throws if a named file does not exist; other errors are reported at the first search. */
function openKnowledge(
  knowledge: AgentResourcesOptions["knowledge"],
  { onWarning, store }: ResourceContext,
): LazyKnowledgeBase | undefined {
  if (knowledge === undefined) return undefined;
  assertKnowledgeBaseExists(knowledge);
  const onFailure = (error: unknown): void => {
    const place = hideCredentials(knowledge.file);
    const why = isLoomError(error) ? error.message : `cannot open the knowledge base \`${place}\``;
    onWarning(`continuing without a knowledge base: ${why}`);
  };
  return new LazyKnowledgeBase(knowledge, onFailure, store);
}

async function assertFolder(workspace: string): Promise<void> {
  const found = await stat(workspace).catch(() => undefined);
  if (found?.isDirectory() !== true) throw new CliError(`workspace \`${workspace}\` is not a folder`);
}

function describeServers({ servers }: McpServers): readonly string[] {
  return servers.flatMap(({ name, state, error, toolsLeftOut }) => {
    if (state !== "ready") return [`MCP server ${name} is not available: ${error ?? state}`];
    return toolsLeftOut === 0 ? [] : [`MCP server ${name}: ${plural(toolsLeftOut, "tool")} skipped`];
  });
}
