/** Reads the options of `loom token create`. Errors name the option. */
import type { ToolRules } from "../../protocol/index.ts";
import { findNearest } from "../../protocol/find-nearest.ts";
import { isToolRules, type ToolRule } from "../../protocol/tool-rules.ts";
import type { NewToken } from "../../server/auth/credentials/credentials.ts";
import type { PrincipalLimits } from "../../server/auth/principal.ts";
import { type Scope, SCOPES } from "../../server/auth/scopes.ts";
import { CliError, type ParsedCommand, textOption } from "../command.ts";
import { duration } from "../serve/setting.ts";
import { TOKEN_LIMIT_NAMES, TOKEN_LIMITS } from "./token-commands.ts";

export function readNewToken(parsed: ParsedCommand, now: number): NewToken {
  const { argument: name = "" } = parsed;
  const [expires, tools] = [textOption(parsed, "expires"), textOption(parsed, "tools")];
  return {
    name,
    owner: textOption(parsed, "owner"),
    scopes: readList(parsed, "scopes")?.map(readScope),
    agents: readList(parsed, "agents"),
    tools: tools === undefined ? undefined : readRules(tools),
    limits: readLimits(parsed),
    expiresAt: expires === undefined ? undefined : now + readExpiry(expires),
  };
}

function readList(parsed: ParsedCommand, option: string): readonly string[] | undefined {
  const items = textOption(parsed, option)
    ?.split(",")
    .map((item) => item.trim());
  if (items?.includes("") === true) throw new CliError(`\`--${option}\` must be a comma-separated list`);
  return items;
}

function readScope(word: string): Scope {
  const scope = SCOPES.find((one) => one === word);
  if (scope !== undefined) return scope;
  throw new CliError(`\`--scopes\`: unknown scope \`${word}\``, `choose from ${SCOPES.join(", ")}`);
}

/** `*` applies to tools that are not named. */
function readRules(text: string): ToolRules {
  const rules = text.split(",").map((part): [string, ToolRule] => {
    const [tool = "", rule = "", ...more] = part.split("=").map((word) => word.trim());
    if (tool !== "" && isToolRules({ [tool]: rule }) && more.length === 0) return [tool, rule as ToolRule];
    throw new CliError(
      `\`--tools\`: \`${part.trim()}\` is not a rule`,
      "write rules as write_file=deny,http_fetch=ask,*=allow",
    );
  });
  const names = rules.map(([tool]) => tool);
  const twice = names.find((tool, index) => names.indexOf(tool) !== index);
  if (twice !== undefined) throw new CliError(`\`--tools\` has two rules for \`${twice}\``);
  return Object.fromEntries(rules);
}

function readLimits(parsed: ParsedCommand): PrincipalLimits {
  const limits = new Map<keyof PrincipalLimits, number>();
  for (const item of readList(parsed, "limits") ?? []) {
    const [limit = "", text = "", ...more] = item.split("=").map((word) => word.trim());
    const name = TOKEN_LIMITS.get(limit);
    if (name === undefined) {
      const nearest = findNearest(limit, TOKEN_LIMIT_NAMES);
      const hint =
        nearest === undefined ? `choose from ${TOKEN_LIMIT_NAMES.join(", ")}` : `did you mean \`${nearest}\`?`;
      throw new CliError(`\`--limits\`: unknown limit \`${limit}\``, hint);
    }
    if (limits.has(name)) throw new CliError(`\`--limits\`: \`${limit}\` is given twice`);
    const value = more.length === 0 && /^\d{1,15}$/.test(text) ? Number(text) : 0;
    if (value < 1) throw new CliError(`\`--limits\`: \`${item}\` is not a number of at least 1`);
    limits.set(name, value);
  }
  return Object.fromEntries(limits);
}

/** A number without a unit would be milliseconds, which is never intended. */
function readExpiry(text: string): number {
  const time = /^\d+$/.test(text) ? undefined : duration.read(text);
  if (time !== undefined && time <= MAX_EXPIRY_MS) return time;
  throw new CliError(`\`--expires ${text}\` is not a duration such as 30m, 12h or 30d (at most 100 years)`);
}

const MAX_EXPIRY_MS = 100 * 366 * 86_400_000;
