/** What a token may be made with. Whatever is wrong is refused by its name, before anything is written. */
import { describeValue, isJsonObject, LoomError } from "../../../protocol/index.ts";
import { LOCAL_OWNER, MAX_NAME_LENGTH, MAX_OWNER_LENGTH } from "../../../log/index.ts";
import type { NewShare, NewToken, TokenInfo } from "./credentials.ts";
import type { PrincipalLimits, ToolRule } from "../principal.ts";
import { SCOPES, USUAL_SCOPES } from "../scopes.ts";

const MAX_TOKEN_NAME = 100;
const MAX_LISTED = 200;
const RULES: readonly ToolRule[] = ["allow", "ask", "deny"];
const LIMITS: { readonly [name in keyof Required<PrincipalLimits>]: true } = {
  requestsPerMinute: true,
  runsPerMinute: true,
  maxRuns: true,
  maxStreams: true,
  tokensPerDay: true,
};

export type CheckedToken = Omit<TokenInfo, "tokenId" | "createdAt" | "revokedAt" | "usedAt">;

/** Throws `invalid_name` or `invalid_arguments`; gives it with what it leaves out. */
export function checkToken(token: NewToken, now: number): CheckedToken {
  const { name, owner = LOCAL_OWNER, scopes = USUAL_SCOPES, agents, tools, limits = {}, expiresAt } = token;
  if (!isPlain(name, MAX_TOKEN_NAME) || name.trim() !== name)
    throw new LoomError("invalid_name", `the name of a token is one line of 1 to ${MAX_TOKEN_NAME} characters`);
  assertOwner(owner);
  const unknown = scopes.find((scope) => !SCOPES.includes(scope));
  if (unknown !== undefined)
    throw refuse(`there is no scope "${unknown.slice(0, 60)}": choose of ${SCOPES.join(", ")}`);
  if (scopes.length === 0) throw refuse("a token without scopes is good for nothing");
  if (agents !== undefined && (agents.length > MAX_LISTED || !agents.every((agent) => isPlain(agent, MAX_NAME_LENGTH))))
    throw refuse(`\`agents\` is a list of at most ${MAX_LISTED} names`);
  checkTools(tools);
  checkLimits(limits);
  assertEnd(expiresAt, now);
  return { name, owner, scopes: SCOPES.filter((scope) => scopes.includes(scope)), agents, tools, limits, expiresAt };
}

export function checkShare({ session, incarnation, owner, expiresAt }: NewShare, now: number): void {
  for (const name of [session, incarnation])
    if (typeof name !== "string" || name === "") throw refuse("a link is to a session that is there");
  assertOwner(owner);
  assertEnd(expiresAt, now);
}

function checkTools(tools: NewToken["tools"]): void {
  if (tools === undefined) return;
  const entries = isJsonObject(tools) ? Object.entries(tools) : undefined;
  if (
    entries === undefined ||
    entries.length > MAX_LISTED ||
    !entries.every(([tool]) => isPlain(tool, MAX_NAME_LENGTH))
  )
    throw refuse(`\`tools\` has rules for at most ${MAX_LISTED} tools, by their names`);
  for (const [tool, rule] of entries)
    if (!RULES.includes(rule)) throw refuse(`the rule of "${tool}" is one of ${RULES.join(", ")}`);
}

function checkLimits(limits: PrincipalLimits): void {
  for (const [name, value] of Object.entries(limits)) {
    if (!Object.hasOwn(LIMITS, name)) throw refuse(`there is no limit \`${name.slice(0, 60)}\``);
    if (value !== undefined && (!Number.isSafeInteger(value) || value < 1))
      throw refuse(`\`${name}\` is a whole number from 1 on, not ${describeValue(value)}`);
  }
}

function assertOwner(owner: unknown): void {
  if (isPlain(owner, MAX_OWNER_LENGTH)) return;
  throw new LoomError("invalid_name", `an owner is named in one line of 1 to ${MAX_OWNER_LENGTH} characters`);
}

function assertEnd(expiresAt: number | undefined, now: number): void {
  if (expiresAt === undefined || (Number.isSafeInteger(expiresAt) && expiresAt > now)) return;
  throw refuse("`expiresAt` must be a time to come, in milliseconds since 1970");
}

/** One line: it is shown in lists and written to logs. */
function isPlain(text: unknown, most: number): text is string {
  if (typeof text !== "string" || text === "" || text.length > most || !text.isWellFormed()) return false;
  return !/[\p{Cc}\u2028\u2029]/u.test(text);
}

function refuse(message: string): LoomError {
  return new LoomError("invalid_arguments", message);
}
