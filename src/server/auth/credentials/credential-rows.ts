/**
 * The driver of the credential store, its SQL statements, and the conversion between rows and tokens, links and
 * principals. The statements run in SQLite and PostgreSQL: `@.` is the schema, `$1` a value.
 */
import { LoomError } from "../../../protocol/index.ts";
import { isJsonObject } from "../../../protocol/json.ts";
import type { CheckedToken, CopiedToken, ShareInfo, TokenInfo } from "./credentials.ts";
import type { Principal, PrincipalLimits, ToolRules } from "../principal.ts";
import { type Scope, SCOPES } from "../scopes.ts";

export type Value = string | number | null | Uint8Array;

interface Statement {
  readonly sql: string;
  readonly values: readonly Value[];
}

/** The statements of one operation. */
export type Steps<T> = Generator<Statement, T, readonly unknown[]>;

/** A database of credentials. All methods throw `store_…` if it cannot be used. */
export interface CredentialsDriver {
  readonly read: <T>(steps: () => Steps<T>) => Promise<T>;
  /** Passes a value that changes when a credential became invalid in another process. */
  readonly readChecked: <T>(steps: (version: unknown) => Steps<T>) => Promise<T>;
  /** Runs one statement that writes. `waits`: for a lock of another process. */
  readonly write: (sql: string, values: readonly Value[], waits: boolean) => Promise<readonly unknown[]>;
  /**
   * Runs `steps` in one transaction that survives a power failure. `attempt`: how often it was tried before, perhaps with
   * success. `lock`: what only one transaction at a time may create.
   */
  readonly transact: <T>(steps: (attempt: number) => Steps<T>, lock?: "tokens" | "shares") => Promise<T>;
  /** The last statement of a transaction that made a credential invalid, if other processes need it to notice. */
  readonly countChange?: string;
  /** Encodes strings of users. */
  readonly toColumn: (text: string) => string;
  readonly fromColumn: (text: string) => string;
  /** Removes what was deleted from the disk. */
  readonly overwriteErased: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Yields one statement and returns its rows. */
export function* query<T>(sql: string, values: readonly Value[] = []): Steps<readonly T[]> {
  return (yield { sql, values }) as readonly T[];
}

/** Returns the `n` of one row. */
export function* count(sql: string, values: readonly Value[] = []): Steps<number> {
  const [row] = yield* query<{ readonly n: number }>(sql, values);
  return row?.n ?? 0;
}

const OWN_TOKENS = "SELECT 'token:' || id FROM @.tokens WHERE owner = $1";
const OWN_SHARES = "SELECT 'share:' || id FROM @.shares WHERE owner = $1";

export const SQL = {
  addToken: `INSERT INTO @.tokens (id, digest, name, owner, scopes, agents, tools, limits, created_at, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING *`,
  importToken: `INSERT INTO @.tokens
    (id, digest, name, owner, scopes, agents, tools, limits, created_at, expires_at, revoked_at, used_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
  revokeImported: "UPDATE @.tokens SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL",
  exportTokens: "SELECT * FROM @.tokens ORDER BY key",
  findToken: "SELECT * FROM @.tokens WHERE id = $1",
  listTokens: "SELECT * FROM @.tokens WHERE owner <> '' ORDER BY key DESC",
  anyToken: "SELECT 1 FROM @.tokens LIMIT 1",
  takenName: "SELECT 1 FROM @.tokens WHERE (name = $1 AND revoked_at IS NULL) OR id = $1 LIMIT 1",
  /** Deletes the `$2` oldest revoked and expired tokens. */
  dropTokens: `DELETE FROM @.tokens WHERE key IN
    (SELECT key FROM @.tokens WHERE revoked_at IS NOT NULL OR expires_at <= $1 ORDER BY key LIMIT $2) RETURNING 1`,
  countTokens: "SELECT count(*) AS n FROM @.tokens",
  revokeToken: `UPDATE @.tokens SET revoked_at = $1 WHERE revoked_at IS NULL AND key =
    (SELECT key FROM @.tokens WHERE revoked_at IS NULL AND (id = $2 OR name = $2) ORDER BY id = $2 DESC LIMIT 1)
    RETURNING id`,
  wasRevoked: "SELECT id FROM @.tokens WHERE revoked_at = $1 AND (id = $2 OR name = $2)",
  useToken: "UPDATE @.tokens SET used_at = $1 WHERE id = $2 AND (used_at IS NULL OR used_at < $1)",

  addShare: `INSERT INTO @.shares (id, digest, session, incarnation, owner, maker, created_at, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING *`,
  findShare: "SELECT * FROM @.shares WHERE id = $1",
  listShares: `SELECT * FROM @.shares WHERE session = $1 AND incarnation = $2 AND (expires_at IS NULL OR expires_at > $3)
    ORDER BY key DESC`,
  countSharesOfSession: "SELECT count(*) AS n FROM @.shares WHERE session = $1",
  openShare: "UPDATE @.shares SET opened = opened + 1, opened_at = $1 WHERE id = $2",
  /** Keeps the `$2` newest links of an owner. */
  dropShares: `DELETE FROM @.shares WHERE owner = $1 AND key <=
    (SELECT key FROM @.shares WHERE owner = $1 ORDER BY key DESC LIMIT 1 OFFSET $2) RETURNING 1`,
  /** Deletes expired links and links to an earlier session with the same ID. */
  sweepShares: "DELETE FROM @.shares WHERE expires_at <= $1 OR (session = $2 AND incarnation <> $3) RETURNING 1",
  dropSharesOf: "DELETE FROM @.shares WHERE maker = $1",
  revokeShare: "DELETE FROM @.shares WHERE id = $1 AND session = $2 RETURNING expires_at",

  addCookie: "INSERT INTO @.cookies (id, digest, holder, principal, expires_at) VALUES ($1, $2, $3, $4, $5)",
  findCookie: "SELECT * FROM @.cookies WHERE id = $1",
  sweepCookies: "DELETE FROM @.cookies WHERE expires_at <= $1",
  /** Keeps the `$2` newest cookies of a principal. */
  dropCookiesOf: `DELETE FROM @.cookies WHERE holder = $1 AND key <=
    (SELECT key FROM @.cookies WHERE holder = $1 ORDER BY key DESC LIMIT 1 OFFSET $2) RETURNING 1`,
  /** Keeps the `$1` newest cookies. */
  dropCookies: `DELETE FROM @.cookies WHERE key <=
    (SELECT key FROM @.cookies ORDER BY key DESC LIMIT 1 OFFSET $1) RETURNING 1`,
  deleteCookie: "DELETE FROM @.cookies WHERE id = $1 AND digest = $2",

  /** Expired tickets do not count. A repetition finds its ticket. */
  addTicket: `INSERT INTO @.tickets (id, digest, holder, principal, cookie, session, expires_at)
    SELECT $1, $2, $3, $4, $5, $6, $7
    WHERE (SELECT count(*) FROM @.tickets WHERE holder = $3 AND expires_at > $8) < $9
      AND (SELECT count(*) FROM @.tickets WHERE expires_at > $8) < $10
    ON CONFLICT (id) DO UPDATE SET id = excluded.id RETURNING id`,
  findTicket: "SELECT * FROM @.tickets WHERE id = $1",
  useTicket: "DELETE FROM @.tickets WHERE id = $1 RETURNING id",
  sweepTickets: "DELETE FROM @.tickets WHERE expires_at <= $1",

  addSpent: `INSERT INTO @.spent AS s (day, holder, tokens) VALUES ($1, $2, $3)
    ON CONFLICT (day, holder) DO UPDATE SET tokens =
      CASE WHEN s.tokens > $4 - excluded.tokens THEN $4 ELSE s.tokens + excluded.tokens END
    RETURNING tokens`,
  readSpent: "SELECT tokens FROM @.spent WHERE day = $1 AND holder = $2",
  sweepSpent: "DELETE FROM @.spent WHERE day < $1",

  // A JWT principal has the ID of its owner, a user of another login `user:` before it.
  eraseSpent: `DELETE FROM @.spent WHERE holder IN ($1, 'user:' || $1) OR holder IN (${OWN_TOKENS}) RETURNING 1`,
  eraseCookies: `DELETE FROM @.cookies WHERE holder IN ($1, 'user:' || $1) OR holder IN (${OWN_TOKENS}) OR holder IN (${OWN_SHARES})
    RETURNING 1`,
  eraseTickets: `DELETE FROM @.tickets WHERE holder IN ($1, 'user:' || $1) OR holder IN (${OWN_TOKENS}) OR holder IN (${OWN_SHARES})
    RETURNING 1`,
  eraseShares: `DELETE FROM @.shares WHERE owner = $1 OR maker IN ($1, 'user:' || $1) OR maker IN (${OWN_TOKENS}) RETURNING 1`,
  /** The newest token stays as an empty, revoked row, because authentication must not turn itself off. */
  eraseLastToken: `UPDATE @.tokens SET digest = $3, name = '', owner = '', scopes = '[]',
    agents = NULL, tools = NULL, limits = '{}', used_at = NULL, expires_at = NULL, revoked_at = coalesce(revoked_at, $2)
    WHERE owner = $1 AND key = (SELECT max(key) FROM @.tokens) RETURNING 1`,
  eraseTokens: "DELETE FROM @.tokens WHERE owner = $1 RETURNING 1",
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

/** `fromColumn` decodes strings of users. */
export function readShare(row: ShareRow, fromColumn: (text: string) => string): ShareInfo {
  const { id, session, incarnation, owner, maker, created_at: createdAt, expires_at: end, opened } = row;
  return {
    shareId: id,
    session: fromColumn(session),
    incarnation: fromColumn(incarnation),
    owner,
    ...(maker === null ? {} : { maker: fromColumn(maker) }),
    createdAt,
    ...(end === null ? {} : { expiresAt: end }),
    opened,
    ...(row.opened_at === null ? {} : { openedAt: row.opened_at }),
  };
}

export function principalOfToken(token: TokenInfo): Principal {
  const { tokenId, name, owner, scopes, agents, tools, limits, expiresAt } = token;
  const id = `token:${tokenId}`;
  return { kind: "token", id, name, owner, scopes: new Set(scopes), agents, tools, limits, expiresAt };
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
