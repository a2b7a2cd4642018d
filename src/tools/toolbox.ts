/** The tools of an agent by name, and the concurrency limit of each. It has no state of runs. */
import type { Language } from "../protocol/detect-language.ts";
import { type JsonObject, LoomError, type ToolRules } from "../protocol/index.ts";
import { findToolRule, type ToolRule } from "../protocol/tool-rules.ts";
import { assertTool } from "./define-tool.ts";
import { ConcurrencyLimit, type Release } from "../protocol/concurrency-limit.ts";
import { summarizeCall, summarizeTool } from "./summarize-tool.ts";
import type { Tool } from "./tool.ts";

/** Describes a tool to a model. */
export interface ToolDescription {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
}

/** A set of tools. Create one with `createToolbox`. */
export interface Toolbox {
  readonly names: readonly string[];
  find(name: string): Tool | undefined;
  /** Rule that applies to the tool, in addition to its own approval policy. */
  ruleOf(name: string): ToolRule;
  /** Returns the descriptions to send to the model. */
  describe(): readonly ToolDescription[];
  /**
   * Returns a short description of a tool, or of a call with these arguments, for users in their language. Undefined if
   * there is no such tool.
   */
  summarize(name: string, language?: Language, input?: JsonObject): string | undefined;
  /** Returns false for an unknown tool. */
  isIdempotent(name: string): boolean;
  /** Waits until another call of the tool can run. Throws `queue_full` if too many calls wait. */
  enter(name: string, signal: AbortSignal): Promise<Release>;
}

/** Providers reject larger numbers, or models work badly with them. */
const MAX_TOOLS = 1000;

/**
 * Creates a toolbox. Throws `tool_invalid` if a tool is not valid, if two have the same name, or if there are more than
 * 1,000.
 */
export function createToolbox(tools: Iterable<Tool>): Toolbox {
  const byName = new Map<string, Tool>();
  const gates = new Map<string, ConcurrencyLimit>();
  for (const tool of tools) {
    assertTool(tool);
    const { name, concurrency } = tool;
    if (byName.has(name)) throw new LoomError("tool_invalid", `Two tools have the name ${name}`, { name });
    if (byName.size >= MAX_TOOLS) throw new LoomError("tool_invalid", `An agent can have at most ${MAX_TOOLS} tools`);
    byName.set(name, tool);
    if (concurrency !== undefined) gates.set(name, new ConcurrencyLimit(concurrency, { tooMany }));
  }
  const descriptions = [...byName.values()].map(({ name, description, inputSchema }) => ({
    name,
    description,
    inputSchema,
  }));
  /** Computed on demand, because most tools of a large toolbox are never called. */
  const summaries = new Map<string, string | undefined>();
  const summarize: Toolbox["summarize"] = (name, language = "en", input) => {
    const tool = byName.get(name);
    if (tool?.summarize !== undefined && input !== undefined) return summarizeCall(tool, input, language);
    const key = `${language} ${name}`;
    if (tool !== undefined && !summaries.has(key)) summaries.set(key, summarizeTool(tool, language));
    return summaries.get(key);
  };
  return {
    names: [...byName.keys()],
    find: (name) => byName.get(name),
    ruleOf: () => "allow",
    describe: () => descriptions,
    summarize,
    isIdempotent: (name) => byName.get(name)?.idempotent === true,
    enter: async (name, signal) => (await gates.get(name)?.enter(signal)) ?? (() => undefined),
  };
}

/**
 * Returns a toolbox to which the rules apply, or the same toolbox if there are no rules. The strictest rule for a tool
 * applies. Denied tools are not offered to the model, and calls to them are rejected. Concurrency limits remain shared.
 */
export function limitToolbox(toolbox: Toolbox, rules: readonly (ToolRules | undefined)[]): Toolbox {
  if (rules.every((each) => each === undefined)) return toolbox;
  const ruleOf = (name: string): ToolRule => findToolRule(rules, name);
  const isOffered = (name: string): boolean => ruleOf(name) !== "deny";
  const descriptions = toolbox.describe().filter(({ name }) => isOffered(name));
  return {
    ...toolbox,
    names: toolbox.names.filter(isOffered),
    ruleOf,
    describe: () => descriptions,
  };
}

function tooMany(limit: number): LoomError {
  return new LoomError("queue_full", `${limit} calls are already waiting for this tool; try again later`, { limit });
}
