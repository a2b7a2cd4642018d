/** Reads the options of `loom token create`. Errors name the option. */
import type { ToolRule, ToolRules } from "../../protocol/index.ts";
import { isToolRules } from "../../protocol/tool-rules.ts";
import type { NewToken } from "../../server/auth/credentials/credentials.ts";
import type { PrincipalLimits } from "../../server/auth/principal.ts";
import { type Scope, SCOPES } from "../../server/auth/scopes.ts";
import { CliError, type ParsedCommand, textOption } from "../command.ts";
import { duration } from "../serve/setting.ts";

const LIMITS: { readonly [option: string]: keyof PrincipalLimits } = {
  "requests-per-minute": "requestsPerMinute",
  "runs-per-minute": "runsPerMinute",
  "max-runs": "maxRuns",
  "max-streams": "maxStreams",
  "max-searches": "maxSearches",
  "tokens-per-day": "tokensPerDay",
};

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
  const given = Object.entries(LIMITS).flatMap(([option, name]) => {
    const text = textOption(parsed, option);
    return text === undefined ? [] : [[name, readNumber(option, text)] as const];
  });
  return Object.fromEntries(given);
}

function readNumber(option: string, text: string): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : 0;
  if (value >= 1) return value;
  throw new CliError(`\`--${option} ${text}\` is not a number of at least 1`);
}

/** A number without a unit would be milliseconds, which is never intended. */
function readExpiry(text: string): number {
  const time = /^\d+$/.test(text) ? undefined : duration.read(text);
  if (time !== undefined && time <= MAX_EXPIRY_MS) return time;
  throw new CliError(`\`--expires ${text}\` is not a duration such as 30m, 12h or 30d (at most 100 years)`);
}

const MAX_EXPIRY_MS = 100 * 366 * 86_400_000;
