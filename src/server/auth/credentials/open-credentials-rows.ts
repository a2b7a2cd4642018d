/** SQL statements of the credential store, and the conversion between rows and tokens, links and principals. */
import { isJsonObject, isLoomError, LoomError } from "../../../protocol/index.ts";
import type { CopiedToken, ShareInfo, TokenInfo } from "./credentials.ts";
import type { CheckedToken } from "./open-credentials-checks.ts";
import type { Principal, PrincipalLimits, ToolRules } from "../principal.ts";
import { type Scope, SCOPES } from "../scopes.ts";

export const STATEMENTS = {
  dataVersion: "PRAGMA data_version",

  addToken: `INSERT INTO tokens (id, digest, name, owner, scopes, agents, tools, limits, created_at, expires_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  importToken: `INSERT INTO tokens
    (id, digest, name, owner, scopes, agents, tools, limits, created_at, expires_at, revoked_at, used_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  revokeImported: "UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL",
  exportTokens: "SELECT * FROM tokens ORDER BY key",
  findToken: "SELECT * FROM tokens WHERE id = ?",
  listTokens: "SELECT * FROM tokens WHERE owner <> '' ORDER BY key DESC",
  anyToken: "SELECT 1 FROM tokens LIMIT 1",
  takenName: "SELECT 1 FROM tokens WHERE (name = ? AND revoked_at IS NULL) OR id = ? LIMIT 1",
  countTokens: "SELECT count(*) AS n FROM tokens",
  dropToken: `DELETE FROM tokens WHERE key = (SELECT key FROM tokens
    WHERE revoked_at IS NOT NULL OR expires_at <= ? ORDER BY key LIMIT 1)`,
  revokeToken: `UPDATE tokens SET revoked_at = ? WHERE revoked_at IS NULL AND key =
    (SELECT key FROM tokens WHERE revoked_at IS NULL AND (id = ? OR name = ?) ORDER BY id = ? DESC LIMIT 1)
    RETURNING id`,
  useToken: "UPDATE tokens SET used_at = ? WHERE id = ?",

  addShare: `INSERT INTO shares (id, digest, session, incarnation, owner, maker, created_at, expires_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  findShare: "SELECT * FROM shares WHERE id = ?",
  listShares: `SELECT * FROM shares WHERE session = ? AND incarnation = ? AND (expires_at IS NULL OR expires_at > ?)
    ORDER BY key DESC`,
  countSharesOfSession: "SELECT count(*) AS n FROM shares WHERE session = ?",
  countSharesOfOwner: "SELECT count(*) AS n FROM shares WHERE owner = ?",
  openShare: "UPDATE shares SET opened = opened + 1, opened_at = ? WHERE id = ?",
  dropShare: "DELETE FROM shares WHERE key = (SELECT min(key) FROM shares WHERE owner = ?)",
  /** Deletes expired links and links to an earlier session with the same ID. */
  sweepShares: "DELETE FROM shares WHERE expires_at <= ? OR (session = ? AND incarnation <> ?)",
  dropSharesOf: "DELETE FROM shares WHERE maker = ?",
  revokeShare: "DELETE FROM shares WHERE id = ? AND session = ? RETURNING expires_at",

  addCookie: "INSERT INTO cookies (id, digest, holder, principal, expires_at) VALUES (?, ?, ?, ?, ?)",
  findCookie: "SELECT * FROM cookies WHERE id = ?",
  countCookies: "SELECT count(*) AS n FROM cookies",
  countCookiesOf: "SELECT count(*) AS n FROM cookies WHERE holder = ?",
  dropCookie: "DELETE FROM cookies WHERE key = (SELECT min(key) FROM cookies)",
  dropCookieOf: "DELETE FROM cookies WHERE key = (SELECT min(key) FROM cookies WHERE holder = ?)",
  sweepCookies: "DELETE FROM cookies WHERE expires_at <= ?",
  deleteCookie: "DELETE FROM cookies WHERE id = ?",

  addTicket: `INSERT INTO tickets (id, digest, holder, principal, cookie, session, expires_at)
    VALUES (?, ?, ?, ?, ?, ?, ?)`,
  findTicket: "SELECT * FROM tickets WHERE id = ?",
  countTickets: "SELECT count(*) AS n FROM tickets",
  countTicketsOf: "SELECT count(*) AS n FROM tickets WHERE holder = ?",
  sweepTickets: "DELETE FROM tickets WHERE expires_at <= ?",
  deleteTicket: "DELETE FROM tickets WHERE id = ?",

  addSpent: `INSERT INTO spent (day, holder, tokens) VALUES (?, ?, ?)
    ON CONFLICT (day, holder) DO UPDATE SET tokens = min(tokens + excluded.tokens, 9007199254740991)
    RETURNING tokens`,
  readSpent: "SELECT tokens FROM spent WHERE day = ? AND holder = ?",
  sweepSpent: "DELETE FROM spent WHERE day < ?",

  // A JWT principal has the ID of its owner, a user of another login `user:` before it.
  eraseSpent: `DELETE FROM spent WHERE holder IN (?1, 'user:' || ?1) OR holder IN (SELECT 'token:' || id FROM tokens WHERE owner = ?1)`,
  eraseCookies: `DELETE FROM cookies WHERE holder IN (?1, 'user:' || ?1) OR holder IN (SELECT 'token:' || id FROM tokens WHERE owner = ?1)
    OR holder IN (SELECT 'share:' || id FROM shares WHERE owner = ?1)`,
  eraseTickets: `DELETE FROM tickets WHERE holder IN (?1, 'user:' || ?1) OR holder IN (SELECT 'token:' || id FROM tokens WHERE owner = ?1)
    OR holder IN (SELECT 'share:' || id FROM shares WHERE owner = ?1)`,
  eraseShares: `DELETE FROM shares WHERE owner = ?1 OR maker IN (?1, 'user:' || ?1)
    OR maker IN (SELECT 'token:' || id FROM tokens WHERE owner = ?1)`,
  /** The newest token stays as an empty, revoked row, because authentication must not turn itself off. */
  eraseLastToken: `UPDATE tokens SET digest = zeroblob(32), name = '', owner = '', scopes = '[]', agents = NULL,
    tools = NULL, limits = '{}', used_at = NULL, expires_at = NULL, revoked_at = coalesce(revoked_at, ?2)
    WHERE owner = ?1 AND key = (SELECT max(key) FROM tokens)`,
  eraseTokens: "DELETE FROM tokens WHERE owner = ?",
} as const;

const MAX_PRINCIPAL_LENGTH = 16_384;

/** A principal and the digest that its secret must match. */
export interface CachedCredential {
  readonly principal: Principal;
  readonly digest: Uint8Array;
}

export interface TokenRow {
  readonly id: string;
  readonly digest: Uint8Array;
  readonly name: string;
  readonly owner: string;
  readonly scopes: string;
  readonly agents: string | null;
  readonly tools: string | null;
  readonly limits: string;
  readonly created_at: number;
  readonly expires_at: number | null;
  readonly revoked_at: number | null;
  readonly used_at: number | null;
}

export interface ShareRow {
  readonly id: string;
  readonly digest: Uint8Array;
  readonly session: string;
  readonly incarnation: string;
  readonly owner: string;
  readonly maker: string | null;
  readonly created_at: number;
  readonly expires_at: number | null;
  readonly opened: number;
  readonly opened_at: number | null;
}

export interface CookieOrTicketRow {
  readonly id: string;
  readonly digest: Uint8Array;
  readonly holder: string;
  readonly principal: string | null;
  readonly cookie?: string | null;
  readonly session?: string | null;
  readonly expires_at: number;
}

/** In the column order of `addToken`, from `name` to `limits`. */
export function writeToken({ name, owner, scopes, agents, tools, limits }: CheckedToken): (string | null)[] {
  const asJson = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value));
  return [name, owner, JSON.stringify(scopes), asJson(agents), asJson(tools), JSON.stringify(limits)];
}

export function readToken(row: TokenRow): TokenInfo {
  return {
    tokenId: row.id,
    name: row.name,
    owner: row.owner,
    scopes: readScopes(JSON.parse(row.scopes)),
    ...(row.agents === null ? {} : { agents: JSON.parse(row.agents) as readonly string[] }),
    ...(row.tools === null ? {} : { tools: JSON.parse(row.tools) as ToolRules }),
    limits: JSON.parse(row.limits) as PrincipalLimits,
    createdAt: row.created_at,
    ...(row.expires_at === null ? {} : { expiresAt: row.expires_at }),
    ...(row.revoked_at === null ? {} : { revokedAt: row.revoked_at }),
    ...(row.used_at === null ? {} : { usedAt: row.used_at }),
  };
}

/** All columns, in the order of `importToken`. */
export function writeCopiedToken(token: CopiedToken): (string | number | Uint8Array | null)[] {
  const { tokenId, digest, createdAt, expiresAt = null, revokedAt = null, usedAt = null } = token;
  return [tokenId, digest, ...writeToken({ ...token, expiresAt: undefined }), createdAt, expiresAt, revokedAt, usedAt];
}

export function readCopiedToken(row: TokenRow): CopiedToken {
  return { ...readToken(row), digest: new Uint8Array(row.digest) };
}

export function readShare(row: ShareRow): ShareInfo {
  const { id, session, incarnation, owner, maker, created_at: createdAt, expires_at: end, opened } = row;
  return {
    shareId: id,
    session,
    incarnation,
    owner,
    ...(maker === null ? {} : { maker }),
    createdAt,
    ...(end === null ? {} : { expiresAt: end }),
    opened,
    ...(row.opened_at === null ? {} : { openedAt: row.opened_at }),
  };
}

export function principalOfToken({
  tokenId,
  name,
  owner,
  scopes,
  agents,
  tools,
  limits,
  expiresAt,
}: TokenInfo): Principal {
  return {
    kind: "token",
    id: `token:${tokenId}`,
    name,
    owner,
    scopes: new Set(scopes),
    agents,
    tools,
    limits,
    expiresAt,
  };
}

export function principalOfShare(
  { shareId, session, incarnation, owner, maker, expiresAt }: ShareInfo,
  limits: PrincipalLimits,
): Principal {
  return {
    kind: "share",
    id: `share:${shareId}`,
    name: "link",
    owner,
    scopes: new Set<Scope>(["read"]),
    session: { id: session, incarnation },
    ...(maker === undefined ? {} : { account: `links of ${maker}` }),
    limits,
    expiresAt,
  };
}

/** Serializes a principal that no table has a row for. */
function writePrincipal({ scopes, ...rest }: Principal): string {
  return JSON.stringify({ ...rest, cookie: undefined, login: undefined, scopes: [...scopes] });
}

export function readPrincipal(text: string): Principal | undefined {
  const read: unknown = JSON.parse(text);
  if (!isJsonObject(read) || !Array.isArray(read["scopes"])) return undefined;
  return { ...(read as unknown as Principal), scopes: new Set(readScopes(read["scopes"])) };
}

/** Ignores scopes of a newer version. */
function readScopes(written: unknown): readonly Scope[] {
  return SCOPES.filter((scope) => (written as readonly unknown[]).includes(scope));
}

/** True if there is no end. */
export function isBefore(end: number | null | undefined, now: number): boolean {
  return end == null || now < end;
}

export function earlier(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}

/** Throws `unsupported` for principals without a credential. */
export function holderOf({ kind, id }: Principal): string {
  if (kind === "token" || kind === "jwt" || kind === "user" || kind === "share") return id;
  throw new LoomError("unsupported", "Authentication is off on this server, so there is nothing to sign in to");
}

/** Null for tokens and share links, which have rows that can be revoked; the principal of a JWT or a user is stored. */
export function serializePrincipal(principal: Principal): string | null {
  if (principal.kind !== "jwt" && principal.kind !== "user") return null;
  const text = writePrincipal(principal);
  if (text.length > MAX_PRINCIPAL_LENGTH)
    throw new LoomError("invalid_arguments", "The claims of the JWT are too long");
  return text;
}

/** For records of use: a store that cannot be written must not reject the request. */
export async function ignoreFailure(write: Promise<unknown>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (!isLoomError(error)) throw error;
  }
}
