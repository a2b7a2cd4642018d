/** The agent of `loom run`: its model and its tools. What reaches outside is there only where an option says so. */
import { stat } from "node:fs/promises";
import { agent, type Agent } from "../../agents/index.ts";
import { parseModelName, resolveModel } from "../../models/resolve-model.ts";
import { isLoomError } from "../../protocol/index.ts";
import {
  createBuiltinTools,
  createFetchTool,
  createFileTools,
  createKnowledgeTool,
  type McpServers,
  openMcpServers,
  readMcpConfig,
} from "../../tools/index.ts";
import { CliError } from "../command.ts";
import { plural } from "../fit-text.ts";
import { assertThere, LazyKnowledgeBase } from "../kb/default-knowledge-base.ts";
import type { RunOptions } from "./read-run-options.ts";

/** Disposed of, it ends what was started for the tools. */
export interface Assembled extends AsyncDisposable {
  readonly agent: Agent;
  /** What the user should know of servers that did not start. */
  readonly warnings: readonly string[];
}

/** Throws for a model that cannot be had, a folder that is not there, servers that are described wrongly. */
export async function assembleAgent(
  options: RunOptions,
  onError: (error: unknown, errorId: string) => void,
  onWarning: (warning: string) => void = () => undefined,
): Promise<Assembled> {
  const { system, workspace, allowFetch, baseURL, knowledge } = options;
  const name = parseModelName(options.model);
  const model = await resolveModel({ ...name, ...(baseURL === undefined ? {} : { baseURL }) });
  if (workspace !== undefined) await assertFolder(workspace);
  const servers = options.mcp === undefined ? undefined : await openMcpServers(await readMcpConfig(options.mcp));
  const base = openKnowledge(knowledge, onWarning);
  const isAutomatic = knowledge?.isAutomatic === true;
  const tools = [
    ...createBuiltinTools(),
    ...(workspace === undefined ? [] : createFileTools(workspace)),
    ...(allowFetch ? [createFetchTool()] : []),
    // Two ways to the same passages would number them twice.
    ...(base === undefined || isAutomatic ? [] : [createKnowledgeTool(base)]),
    ...(servers?.tools ?? []),
  ];
  return {
    agent: agent({
      ...options.agent,
      model,
      tools,
      onError,
      ...(system === undefined ? {} : { systemInstructions: system }),
      ...(base === undefined || !isAutomatic ? {} : { retriever: base }),
    }),
    warnings: servers === undefined ? [] : describeServers(servers),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([servers?.close(), base?.[Symbol.asyncDispose]()]);
    },
  };
}

/** One that was named and is missing is refused at once; any other trouble shows with the first search. */
function openKnowledge(
  knowledge: RunOptions["knowledge"],
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
