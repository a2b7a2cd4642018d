/**
 * The setting `tool-rules`: `write_file=ask` for all agents, `react:write_file=deny` for one. Said twice of one tool, the
 * stricter counts. It knows which tools there are, so that a name with a mistake in it does not pass for a rule.
 */
import { findToolRule, type ToolRule, type ToolRules } from "../../protocol/index.ts";
import { CliError } from "../command.ts";

interface Said {
  readonly agent: string | undefined;
  readonly tool: string;
  readonly rule: ToolRule;
}

const FORM = /^(?:(?<agent>react|tot|got|agot):)?(?<tool>\*|[\w-]{1,64})=(?<rule>allow|ask|deny)$/;

export function isToolRule(item: string): boolean {
  return FORM.test(item);
}

/** Those of one agent; undefined where there are none. Throws where a rule is of a tool that is not there. */
export function collectToolRules(
  items: readonly string[],
  { agent, tools }: { readonly agent: string; readonly tools: readonly string[] },
): ToolRules | undefined {
  const said = items.map(read);
  for (const { tool } of said) assertKnown(tool, tools);
  const own = said.filter((each) => each.agent === undefined || each.agent === agent);
  if (own.length === 0) return undefined;
  const names = [...new Set(own.map(({ tool }) => tool))];
  const rules = names.map((name): [string, ToolRule] => {
    const all = own.flatMap(({ tool, rule }) => (tool === name ? [{ [tool]: rule }] : []));
    return [name, findToolRule(all, name)];
  });
  return Object.fromEntries(rules);
}

function read(item: string): Said {
  const { agent, tool = "*", rule = "deny" } = FORM.exec(item)?.groups ?? {};
  return { agent, tool, rule: rule as ToolRule };
}

/** Those of an MCP server may be missing today and there tomorrow. */
function assertKnown(tool: string, tools: readonly string[]): void {
  if (tool === "*" || tool.includes("__") || tools.includes(tool)) return;
  throw new CliError(
    `tool-rules: there is no tool ${tool}`,
    tools.length === 0 ? "there are no tools at all" : `there are ${tools.join(", ")}`,
  );
}
