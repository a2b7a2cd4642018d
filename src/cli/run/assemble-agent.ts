/** The agent of `loom run`: its model and its tools. What reaches outside is there only where an option says so. */
import { stat } from "node:fs/promises";
import { agent, type Agent } from "../../agents/index.ts";
import { parseModelName, resolveModel } from "../../models/resolve-model.ts";
import {
  createBuiltinTools,
  createFetchTool,
  createFileTools,
  type McpServers,
  openMcpServers,
  readMcpConfig,
} from "../../tools/index.ts";
import { CliError } from "../command.ts";
import { plural } from "../fit-text.ts";
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
): Promise<Assembled> {
  const { system, workspace, allowFetch, baseURL } = options;
  const name = parseModelName(options.model);
  const model = await resolveModel({ ...name, ...(baseURL === undefined ? {} : { baseURL }) });
  if (workspace !== undefined) await assertFolder(workspace);
  const servers = options.mcp === undefined ? undefined : await openMcpServers(await readMcpConfig(options.mcp));
  const tools = [
    ...createBuiltinTools(),
    ...(workspace === undefined ? [] : createFileTools(workspace)),
    ...(allowFetch ? [createFetchTool()] : []),
    ...(servers?.tools ?? []),
  ];
  return {
    agent: agent({
      ...options.agent,
      model,
      tools,
      onError,
      ...(system === undefined ? {} : { systemInstructions: system }),
    }),
    warnings: servers === undefined ? [] : describeServers(servers),
    [Symbol.asyncDispose]: async () => servers?.close(),
  };
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
