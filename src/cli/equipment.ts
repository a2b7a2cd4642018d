/**
 * What agents of the command line work with: one model and one set of tools, however many agents share them. What reaches
 * outside is there only where somebody has said so. It knows no agent.
 */
import { stat } from "node:fs/promises";
import { type LanguageModel, OfflineModel } from "../models/index.ts";
import { parseModelName, resolveModel } from "../models/resolve-model.ts";
import { isLoomError } from "../protocol/index.ts";
import {
  createBuiltinTools,
  createFetchTool,
  createFileTools,
  createKnowledgeTool,
  type McpServers,
  openMcpServers,
  readMcpConfig,
  type Tool,
} from "../tools/index.ts";
import { CliError } from "./command.ts";
import { plural } from "./fit-text.ts";
import { assertThere, type KnowledgeChoice } from "./kb/default-knowledge-base.ts";
import { LazyKnowledgeBase } from "./kb/lazy-knowledge-base.ts";

export interface EquipmentOptions {
  readonly model: string;
  readonly baseURL: string | undefined;
  readonly apiKey?: string | undefined;
  /** Before each word of the offline model; none when absent. */
  readonly offlineDelayMs?: number | undefined;
  readonly workspace: string | undefined;
  readonly mcp: string | undefined;
  readonly allowFetch: boolean;
  /** Undefined for none. Automatic: searched for every message, and no tool. */
  readonly knowledge: (KnowledgeChoice & { readonly isAutomatic: boolean }) | undefined;
}

/** Disposed of, it ends what was started for the tools. */
export interface Equipment extends AsyncDisposable {
  readonly model: LanguageModel;
  readonly tools: readonly Tool[];
  /** However it is searched. */
  readonly knowledge: LazyKnowledgeBase | undefined;
  /** Where it is searched for every message. */
  readonly retriever: LazyKnowledgeBase | undefined;
  /** What the user should know of servers that did not start. */
  readonly warnings: readonly string[];
}

/** Throws for a model that cannot be had, a folder that is not there, servers that are described wrongly. */
export async function openEquipment(
  options: EquipmentOptions,
  onWarning: (warning: string) => void,
): Promise<Equipment> {
  const { workspace, allowFetch, knowledge } = options;
  const model = await openModel(options);
  if (workspace !== undefined) await assertFolder(workspace);
  const servers = options.mcp === undefined ? undefined : await openMcpServers(await readMcpConfig(options.mcp));
  const base = openKnowledge(knowledge, onWarning);
  const isAutomatic = knowledge?.isAutomatic === true;
  return {
    model,
    tools: [
      ...createBuiltinTools(),
      ...(workspace === undefined ? [] : createFileTools(workspace)),
      ...(allowFetch ? [createFetchTool()] : []),
      // Two ways to the same passages would number them twice.
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

/** Throws for a model that cannot be had: `unknown_model`, `missing_key`, `missing_package`. */
export async function openModel(
  options: Pick<EquipmentOptions, "model" | "baseURL" | "apiKey" | "offlineDelayMs">,
): Promise<LanguageModel> {
  const { baseURL, apiKey, offlineDelayMs: delayMs = 0 } = options;
  const name = parseModelName(options.model);
  if (name.provider === "offline" && delayMs > 0) return new OfflineModel({ delayMs });
  return resolveModel({
    ...name,
    ...(baseURL === undefined ? {} : { baseURL }),
    ...(apiKey === undefined ? {} : { apiKey }),
  });
}

/** One that was named and is missing is refused at once; any other trouble shows with the first search. */
function openKnowledge(
  knowledge: EquipmentOptions["knowledge"],
  onWarning: (warning: string) => void,
): LazyKnowledgeBase | undefined {
  if (knowledge === undefined) return undefined;
  assertThere(knowledge);
  return new LazyKnowledgeBase(knowledge, (error) => {
    const why = isLoomError(error) ? error.message : `the knowledge base \`${knowledge.file}\` cannot be opened`;
    onWarning(`the run goes on without a knowledge base: ${why}`);
  });
}

async function assertFolder(workspace: string): Promise<void> {
  const found = await stat(workspace).catch(() => undefined);
  if (found?.isDirectory() !== true) throw new CliError(`the workspace \`${workspace}\` is not a folder`);
}

function describeServers({ servers }: McpServers): readonly string[] {
  return servers.flatMap(({ name, state, error, toolsLeftOut }) => {
    if (state !== "ready") return [`the MCP server ${name} is not there: ${error ?? state}`];
    return toolsLeftOut === 0 ? [] : [`the MCP server ${name}: ${plural(toolsLeftOut, "tool")} left out`];
  });
}
