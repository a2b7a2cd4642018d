/** Formats tokens as text and as JSON, without their secrets. */
import type { TokenInfo } from "../../server/auth/credentials/credentials.ts";
import { cleanText } from "../fit-text.ts";
import { formatTable } from "../format-table.ts";
import type { OutputStyle } from "../terminal.ts";

/** Formats name, ID, owner, state and permissions in columns; tab-separated if the output is not a terminal. */
export function formatTokens(tokens: readonly TokenInfo[], now: number, output: OutputStyle): string {
  const rows = tokens.map((token) => {
    const about = [token.name, token.tokenId, token.owner];
    return { about, state: [describeState(token, now), ...describePermissions(token)] };
  });
  if (output.columns === undefined)
    return rows.map(({ about, state }) => `${[...about, ...state].map(cleanText).join("\t")}\n`).join("");
  const cells = rows.map(({ about, state }) => [...about, state.join("  ")]);
  return formatTable(["NAME", "ID", "OWNER", "STATE"], cells, output);
}

/** Describes a token that was just created. */
export function describeToken(token: TokenInfo, now: number): string {
  const { name, tokenId, owner } = token;
  const parts = [`owner ${owner}`, describeEnd(token, now), ...describePermissions(token)];
  return cleanText(`token \`${name}\` (${tokenId}): ${parts.join("; ")}`);
}

export function toTokenJson(token: TokenInfo): { readonly [field: string]: unknown } {
  const time = (at: number | undefined): string | undefined =>
    at === undefined ? undefined : new Date(at).toISOString();
  const limits = Object.entries(token.limits).map(([name, value]) => [
    name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    value as unknown,
  ]);
  return {
    token_id: token.tokenId,
    name: token.name,
    owner: token.owner,
    scopes: token.scopes,
    agents: token.agents,
    tools: token.tools,
    limits: Object.fromEntries(limits) as unknown,
    created_at: time(token.createdAt),
    expires_at: time(token.expiresAt),
    revoked_at: time(token.revokedAt),
    used_at: time(token.usedAt),
  };
}

export function isLive(token: TokenInfo | undefined, now: number): boolean {
  const { revokedAt, expiresAt = Number.POSITIVE_INFINITY } = token ?? { revokedAt: 0 };
  return revokedAt === undefined && now < expiresAt;
}

function describeState(token: TokenInfo, now: number): string {
  const { revokedAt, usedAt } = token;
  if (revokedAt !== undefined) return `revoked ${dayOf(revokedAt)}`;
  const end = describeEnd(token, now);
  if (!isLive(token, now)) return end;
  return `${usedAt === undefined ? "never used" : `used ${dayOf(usedAt)}`}, ${end}`;
}

function describeEnd(token: TokenInfo, now: number): string {
  const { expiresAt } = token;
  if (expiresAt === undefined) return "does not expire";
  return `${now < expiresAt ? "expires" : "expired"} ${dayOf(expiresAt)}`;
}

function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

function describePermissions({ scopes, agents, tools = {}, limits }: TokenInfo): readonly string[] {
  const rules = Object.entries(tools).map(([tool, rule]) => `${tool}=${rule}`);
  const bounds = Object.entries(limits).map(([name, value]) => `${name}=${String(value)}`);
  return [
    scopes.join(","),
    ...(agents === undefined ? [] : [`agents ${agents.join(",")}`]),
    ...(rules.length === 0 ? [] : [`tools ${rules.join(",")}`]),
    ...(bounds.length === 0 ? [] : [bounds.join(",")]),
  ];
}
