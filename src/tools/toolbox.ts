/**
 * The tools an agent may use, by name, and how many calls of each may run at once. It holds no state of any run.
 */
import { type JsonObject, LoomError, type ToolRule } from "../protocol/index.ts";
import { assertTool } from "./define-tool.ts";
import { Gate, type Release } from "./gate.ts";
import { summariseTool } from "./summarise-tool.ts";
import type { Tool } from "./tool.ts";

/** A tool as a model is told of it. */
export interface ToolDescription {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
}

export interface Toolbox {
  readonly names: readonly string[];
  find(name: string): Tool | undefined;
  /** What is said of the tool beside what it says itself. */
  ruleOf(name: string): ToolRule;
  describe(): readonly ToolDescription[];
  /** What a tool does, in a few words for people; undefined for a tool nobody knows. */
  summarise(name: string): string | undefined;
  /** False for a tool nobody knows: what it would do a second time is not known either. */
  isIdempotent(name: string): boolean;
  /** Waits until one more call of the tool may run. */
  enter(name: string, signal: AbortSignal): Promise<Release>;
}

/** Tools of one toolbox; providers refuse more, or work badly with them. Code `tool_invalid`. */
const MAX_TOOLS = 1000;

export interface ToolboxOptions {
  readonly maxTools?: number;
  /** Calls that may wait for one tool. Code `queue_full`. */
  readonly maxWaiting?: number;
}

/** Throws `tool_invalid` for a tool that no provider would accept, and for two of one name. */
export function createToolbox(
  tools: Iterable<Tool>,
  { maxTools = MAX_TOOLS, maxWaiting }: ToolboxOptions = {},
): Toolbox {
  const byName = new Map<string, Tool>();
  const gates = new Map<string, Gate>();
  for (const tool of tools) {
    assertTool(tool);
    const { name, concurrency } = tool;
    if (byName.has(name)) throw new LoomError("tool_invalid", `two tools are called ${name}`, { name });
    if (byName.size >= maxTools) throw new LoomError("tool_invalid", `an agent may have ${maxTools} tools`);
    byName.set(name, tool);
    if (concurrency !== undefined) gates.set(name, new Gate(concurrency, maxWaiting));
  }
  const descriptions = [...byName.values()].map(({ name, description, inputSchema }) => ({
    name,
    description,
    inputSchema,
  }));
  /** Made when they are asked for: most tools of a large box are never called. */
  const summaries = new Map<string, string | undefined>();
  const summarise = (name: string): string | undefined => {
    const tool = byName.get(name);
    if (tool !== undefined && !summaries.has(name)) summaries.set(name, summariseTool(tool));
    return summaries.get(name);
  };
  return {
    names: [...byName.keys()],
    find: (name) => byName.get(name),
    ruleOf: () => "allow",
    describe: () => descriptions,
    summarise,
    isIdempotent: (name) => byName.get(name)?.idempotent === true,
    enter: async (name, signal) => (await gates.get(name)?.enter(signal)) ?? (() => undefined),
  };
}
