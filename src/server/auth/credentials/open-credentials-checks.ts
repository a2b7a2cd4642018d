/** Validates new tokens and share links before anything is written. */
import { isJsonObject, LoomError } from "../../../protocol/index.ts";
import { describeValue } from "../../../protocol/fault.ts";
import { MAX_NAME_LENGTH } from "../../../log/log.ts";
import { LOCAL_OWNER, MAX_OWNER_LENGTH } from "../../../log/rules.ts";
import type { NewShare, NewToken, TokenInfo } from "./credentials.ts";
import type { PrincipalLimits, ToolRule } from "../principal.ts";
import { SCOPES, DEFAULT_SCOPES } from "../scopes.ts";

const MAX_TOKEN_NAME = 100;
const MAX_LISTED = 200;
const RULES: readonly ToolRule[] = ["allow", "ask", "deny"];
const LIMITS: { readonly [name in keyof Required<PrincipalLimits>]: true } = {
  requestsPerMinute: true,
  runsPerMinute: true,
  maxRuns: true,
  maxStreams: true,
  maxSearches: true,
  tokensPerDay: true,
};

export type CheckedToken = Omit<TokenInfo, "tokenId" | "createdAt" | "revokedAt" | "usedAt">;

/** Returns the token with its defaults filled in. Throws `invalid_name` or `invalid_arguments`. */
export function checkToken(token: NewToken, now: number): CheckedToken {
  const { name, owner = LOCAL_OWNER, scopes = DEFAULT_SCOPES, agents, tools, limits = {}, expiresAt } = token;
  if (!isPlain(name, MAX_TOKEN_NAME) || name.trim() !== name)
    throw new LoomError(
      "invalid_name",
      `A token name must be one line of 1 to ${MAX_TOKEN_NAME} characters, without spaces at either end`,
    );
  assertOwner(owner);
  const unknown = scopes.find((scope) => !SCOPES.includes(scope));
  if (unknown !== undefined) throw refuse(`Unknown scope "${unknown.slice(0, 60)}"; use ${SCOPES.join(", ")}`);
  if (scopes.length === 0) throw refuse("A token needs at least one scope");
  if (agents !== undefined && (agents.length > MAX_LISTED || !agents.every((agent) => isPlain(agent, MAX_NAME_LENGTH))))
    throw refuse(`\`agents\` must be a list of at most ${MAX_LISTED} agent names`);
  checkTools(tools);
  checkLimits(limits);
  assertExpiry(expiresAt, now);
  return { name, owner, scopes: SCOPES.filter((scope) => scopes.includes(scope)), agents, tools, limits, expiresAt };
}

export function takenNameError(name: string): LoomError {
  return new LoomError("invalid_name", `A token named "${name}" already exists; revoke it first or use another name`);
}

export function tooManyTokens(limit: number): LoomError {
  return new LoomError("too_many_open", `Token limit reached (${limit}); revoke unused tokens first`);
}

export function checkShare({ session, incarnation, owner, expiresAt }: NewShare, now: number): void {
  for (const name of [session, incarnation])
    if (typeof name !== "string" || name === "")
      throw refuse("A share link needs the id and the incarnation of an existing session");
  assertOwner(owner);
  assertExpiry(expiresAt, now);
}

function checkTools(tools: NewToken["tools"]): void {
  if (tools === undefined) return;
  const entries = isJsonObject(tools) ? Object.entries(tools) : undefined;
  if (
    entries === undefined ||
    entries.length > MAX_LISTED ||
    !entries.every(([tool]) => isPlain(tool, MAX_NAME_LENGTH))
  )
    throw refuse(`\`tools\` must map at most ${MAX_LISTED} tool names to rules`);
  for (const [tool, rule] of entries)
    if (!RULES.includes(rule)) throw refuse(`The rule of tool "${tool}" must be one of ${RULES.join(", ")}`);
}

function checkLimits(limits: PrincipalLimits): void {
  for (const [name, value] of Object.entries(limits)) {
    if (!Object.hasOwn(LIMITS, name))
      throw refuse(`Unknown limit \`${name.slice(0, 60)}\`; use ${Object.keys(LIMITS).join(", ")}`);
    if (value !== undefined && (!Number.isSafeInteger(value) || value < 1))
      throw refuse(`\`${name}\` must be a positive integer, not ${describeValue(value)}`);
  }
}

function assertOwner(owner: unknown): void {
  if (isOwnerName(owner)) return;
  throw new LoomError("invalid_name", `An owner must be one line of 1 to ${MAX_OWNER_LENGTH} characters`);
}

export function isOwnerName(owner: unknown): owner is string {
  return isPlain(owner, MAX_OWNER_LENGTH);
}

function assertExpiry(expiresAt: number | undefined, now: number): void {
  if (expiresAt === undefined || (Number.isSafeInteger(expiresAt) && expiresAt > now)) return;
  throw refuse("`expiresAt` must be a future time in milliseconds since 1970");
}

/** One line without control characters: names appear in lists and logs. */
function isPlain(text: unknown, most: number): text is string {
  if (typeof text !== "string" || text === "" || text.length > most || !text.isWellFormed()) return false;
  return !/[\p{Cc}\u2028\u2029]/u.test(text);
}

function refuse(message: string): LoomError {
  return new LoomError("invalid_arguments", message);
}
