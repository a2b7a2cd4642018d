/**
 * Reads the setting `tool-rules`: `write_file=ask` applies to all agents, `react:write_file=deny` to one. If a tool has
 * several rules, the strictest wins.
 */
import type { ToolRules } from "../../protocol/index.ts";
import { findToolRule, type ToolRule } from "../../protocol/tool-rules.ts";
import { CliError } from "../command.ts";

interface ParsedToolRule {
  readonly agent: string | undefined;
  readonly tool: string;
  readonly rule: ToolRule;
}

const RULE_PATTERN = /^(?:(?<agent>react|tot|got|agot):)?(?<tool>\*|[\w-]{1,64})=(?<rule>allow|ask|deny)$/;

export function isToolRule(item: string): boolean {
  return RULE_PATTERN.test(item);
}

/** Returns the rules of one agent, or undefined if it has none. Throws a CliError if a rule names an unknown tool. */
export function collectToolRules(
  items: readonly string[],
  { agent, tools }: { readonly agent: string; readonly tools: readonly string[] },
): ToolRules | undefined {
  const parsed = items.map(read);
  for (const { tool } of parsed) assertKnown(tool, tools);
  const own = parsed.filter((each) => each.agent === undefined || each.agent === agent);
  if (own.length === 0) return undefined;
  const names = [...new Set(own.map(({ tool }) => tool))];
  const rules = names.map((name): [string, ToolRule] => {
    const all = own.flatMap(({ tool, rule }) => (tool === name ? [{ [tool]: rule }] : []));
    return [name, findToolRule(all, name)];
  });
  return Object.fromEntries(rules);
}

function read(item: string): ParsedToolRule {
  const { agent, tool = "*", rule = "deny" } = RULE_PATTERN.exec(item)?.groups ?? {};
  return { agent, tool, rule: rule as ToolRule };
}

/** Tools of MCP servers contain `__` and are not checked: their server may be temporarily unavailable. */
function assertKnown(tool: string, tools: readonly string[]): void {
  if (tool === "*" || tool.includes("__") || tools.includes(tool)) return;
  throw new CliError(
    `tool-rules: unknown tool ${tool}`,
    tools.length === 0 ? "no tools are enabled" : `available tools: ${tools.join(", ")}`,
  );
}
