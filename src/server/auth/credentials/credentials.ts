/**
 * The credential store: tokens, cookies, tickets, share links and model token usage. All processes of a deployment
 * share it, so a revocation in one takes effect in all. It contains digests, never secrets.
 */
import { createHash, randomBytes, randomInt, timingSafeEqual } from "node:crypto";
import { LoomError } from "../../../protocol/index.ts";
import { isJsonObject } from "../../../protocol/json.ts";
import { acceptInteger, readOptions } from "../../../protocol/read-options.ts";
import { MAX_NAME_LENGTH } from "../../../log/log.ts";
import { LOCAL_OWNER, MAX_OWNER_LENGTH } from "../../../log/rules.ts";
import {
  DEFAULT_PRINCIPAL_LIMITS,
  type Principal,
  type PrincipalLimits,
  type ToolRule,
  type ToolRules,
} from "../principal.ts";
import { DEFAULT_SCOPES, type Scope, SCOPES } from "../scopes.ts";

const MAX_TOKEN_NAME = 100;
const MAX_LISTED = 200;
const RULES: readonly ToolRule[] = ["allow", "ask", "deny"];
const LIMIT_RULES = Object.fromEntries(
  [...Object.keys(DEFAULT_PRINCIPAL_LIMITS), "tokensPerDay"].map((name) => [name, acceptInteger(1)] as const),
);

/** A token to create. */
export interface NewToken {
  /** Display name, unique among tokens that are not revoked. */
  readonly name: string;
  /**
   * Owner of the sessions the token accesses. Default: `local`, the owner of everything created without authentication.
   */
  readonly owner?: string | undefined;
  /** Default: `read`, `write`, `run` and `approve`. */
  readonly scopes?: readonly Scope[] | undefined;
  /** Names of the agents it may start. Default: all. */
  readonly agents?: readonly string[] | undefined;
  /** Rules for tools by name. Default: the tools' own rules. */
  readonly tools?: ToolRules | undefined;
  /** Limits of the token. Default: those of the server. */
  readonly limits?: PrincipalLimits | undefined;
  /** Milliseconds since 1970. Default: never. */
  readonly expiresAt?: number | undefined;
}

/** A stored token, without its secret. Times are in milliseconds since 1970. */
export interface TokenInfo {
  readonly tokenId: string;
  readonly name: string;
  readonly owner: string;
  readonly scopes: readonly Scope[];
  readonly agents?: readonly string[] | undefined;
  readonly tools?: ToolRules | undefined;
  readonly limits: PrincipalLimits;
  readonly expiresAt?: number | undefined;
  readonly createdAt: number;
  readonly revokedAt?: number | undefined;
  /** Milliseconds since 1970, rounded down to the minute. */
  readonly usedAt?: number | undefined;
}

/** A token with the digest of its secret, as one store gives it to another. */
export interface CopiedToken extends TokenInfo {
  readonly digest: Uint8Array;
}

/** A share link to create. */
export interface NewShare {
  readonly session: string;
  readonly incarnation: string;
  readonly owner: string;
  /**
   * Id of the principal that creates the link. Revoking the maker's token revokes the link, and all links of one maker
   * share its limits. Without a maker, each link is counted separately.
   */
  readonly maker?: string | undefined;
  readonly expiresAt?: number | undefined;
}

export interface ShareInfo extends NewShare {
  readonly shareId: string;
  readonly createdAt: number;
  /** How often the link was opened. */
  readonly opened: number;
  /** When the link was last opened, in milliseconds since 1970. Absent if it was never opened. */
  readonly openedAt?: number | undefined;
}

/** A new credential. The secret is returned only here and cannot be retrieved later. */
export interface IssuedCredential<Info> {
  readonly secret: string;
  readonly info: Info;
}

export interface TicketRequest {
  /** The only session the ticket is valid for. Default: all sessions of the principal. */
  readonly session?: string | undefined;
  readonly expiresAt: number;
}

export interface UsedTicket {
  readonly principal: Principal;
  /** The only session the ticket is valid for. */
  readonly session?: string;
}

/**
 * The credential store, see `openCredentials`. Each operation is atomic and rejects with `store_…` if the store cannot be
 * used. No operation blocks the process while it waits for the store.
 */
export interface Credentials {
  /** Rejects with `invalid_name`, `invalid_arguments` or `too_many_open`. */
  createToken(token: NewToken): Promise<IssuedCredential<TokenInfo>>;
  /** Newest first, including revoked and expired tokens. */
  listTokens(): Promise<readonly TokenInfo[]>;
  /**
   * Revokes a token by ID or name, together with the share links it created. Returns false if no valid token matches.
   * When it resolves, this handle no longer accepts the token; those of other processes follow within half a second.
   */
  revokeToken(idOrName: string): Promise<boolean>;
  /** Whether a token was ever created, even if it was revoked since: authentication never turns itself off again. */
  hasTokens(): Promise<boolean>;

  /** All tokens, oldest first, to copy them to another store. */
  exportTokens(): Promise<readonly CopiedToken[]>;
  /**
   * Adds tokens of another store. A token that is there already stays, and becomes revoked if it is revoked in the other
   * store. Returns the number of new tokens. Rejects with `invalid_name` if another valid token has one of the names, and
   * with `too_many_open`; nothing is added then.
   */
  importTokens(tokens: readonly CopiedToken[]): Promise<number>;

  /** Creates a link to read one session. Rejects with `invalid_arguments` or `too_many_open`. */
  createShare(share: NewShare): Promise<IssuedCredential<ShareInfo>>;
  /** Unexpired links of one incarnation of a session, newest first. */
  listShares(session: string, incarnation: string): Promise<readonly ShareInfo[]>;
  /** Counts an opening of a link. Ignores an unknown link, and a store that cannot be written. */
  noteOpened(shareId: string): Promise<void>;
  /** Returns false if the session has no such valid link. */
  revokeShare(session: string, shareId: string): Promise<boolean>;

  /**
   * Creates a cookie for a signed-in principal. The cookie is valid until it expires or is deleted, but not longer than
   * the credential it was created with. A JWT principal is stored with the cookie.
   */
  createCookie(principal: Principal, expiresAt: number): Promise<IssuedCredential<{ readonly expiresAt: number }>>;
  /** Signs out the browser. Ignores an unknown cookie. */
  deleteCookie(secret: string): Promise<void>;

  /** Creates a single-use ticket, valid no longer than its principal. */
  createTicket(principal: Principal, request: TicketRequest): Promise<IssuedCredential<{ readonly expiresAt: number }>>;
  /** Uses up a ticket. Returns undefined if it is unknown, used or expired. Of concurrent calls, one succeeds. */
  useTicket(secret: string, now?: number): Promise<UsedTicket | undefined>;

  /** Returns the principal of a token, share link or cookie; undefined if it is unknown, revoked or expired. */
  find(secret: string, now?: number): Promise<Principal | undefined>;
  /**
   * Whether a principal is still valid. A principal that is not stored here, such as a JWT's, is valid until it
   * expires. Cheap enough to call for every request and every second for each live stream.
   */
  isValid(principal: Principal, now?: number): Promise<boolean>;

  /** Whether the principal was not revoked. True for expired principals and for those not stored here. */
  isNotRevoked(principalId: string): Promise<boolean>;

  /** Adds to the model tokens a principal has used on the current UTC day, and returns their new number. */
  addSpent(principalId: string, tokens: number, now?: number): Promise<number>;
  /** Model tokens the principal has used on the current UTC day. */
  readSpent(principalId: string, now?: number): Promise<number>;

  /**
   * Erases the tokens of an owner, the share links of its sessions and those it created, its sign-ins, tickets and
   * recorded usage. JWTs are not stored and stay valid until they expire.
   */
  eraseOwner(owner: string): Promise<ErasedCredentials>;

  /** Finishes the operations that have begun. Later ones reject with `store_closed`. */
  close(): Promise<void>;
}

/** How many credentials were erased. */
export interface ErasedCredentials {
  readonly tokens: number;
  readonly shares: number;
  /** Cookies and unused tickets. */
  readonly signIns: number;
  /** Days on which a credential of the owner used model tokens. */
  readonly usageRecords: number;
}

export interface CredentialsOptions {
  /**
   * How long an operation waits for another process that has locked the file, in milliseconds. Other operations go on
   * meanwhile. Opening the file blocks the process for at most this time. Default: 2,000.
   */
  readonly busyTimeoutMs?: number | undefined;
  /** Default: `CREDENTIAL_LIMITS`. */
  readonly limits?: Partial<CredentialLimits> | undefined;
  /** Clock in milliseconds since 1970. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/** When a limit is reached, creating another fails with `too_many_open` unless the field says otherwise. */
export interface CredentialLimits {
  /** The oldest revoked or expired token is deleted first. */
  readonly maxTokens: number;
  readonly maxSharesOfSession: number;
  /** The oldest link of the owner is deleted first. */
  readonly maxSharesOfOwner: number;
  /** The oldest cookie is deleted first. */
  readonly maxCookies: number;
  /** The principal's oldest cookie is deleted first. */
  readonly maxCookiesOfPrincipal: number;
  readonly maxTickets: number;
  readonly maxTicketsOfPrincipal: number;
  /** Days for which token usage is kept. */
  readonly spentDays: number;
}

export const CREDENTIAL_LIMITS: CredentialLimits = {
  maxTokens: 10_000,
  maxSharesOfSession: 100,
  maxSharesOfOwner: 10_000,
  maxCookies: 10_000,
  maxCookiesOfPrincipal: 100,
  maxTickets: 10_000,
  maxTicketsOfPrincipal: 1000,
  spentDays: 32,
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
  readOptions(LIMIT_RULES, limits, { path: "limits", noun: "limit" });
  assertExpiry(expiresAt, now);
  return { name, owner, scopes: SCOPES.filter((scope) => scopes.includes(scope)), agents, tools, limits, expiresAt };
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

/**
 * Secrets of the form `loom_tok_<id>_<secret>`. The prefix lets secret scanners find leaked ones, the ID is public, and
 * the rest is 32 random bytes. Only a digest of the whole text is stored, so a secret is not valid under another ID or
 * kind. The secret is random, not chosen by a person, so a slow hash is not needed.
 */
const PREFIXES = { token: "tok", share: "shr", cookie: "ses", ticket: "tkt" } as const;
type KeyKind = keyof typeof PREFIXES;

const KINDS = new Map(Object.entries(PREFIXES).map(([kind, prefix]) => [prefix as string, kind as KeyKind]));
const ID_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789";
const ID_LENGTH = 12;
const SECRET_BYTES = 32;
const FORM = /^loom_(?<prefix>tok|shr|ses|tkt)_(?<id>[a-z0-9]{12})_[\w-]{43}$/;

export interface Key {
  readonly kind: KeyKind;
  readonly id: string;
  /** SHA-256 of the secret. */
  readonly digest: Uint8Array;
}

interface NewKey extends Key {
  /** The whole text, including prefix and ID. */
  readonly secret: string;
}

export function makeKey(kind: KeyKind): NewKey {
  let id = "";
  while (id.length < ID_LENGTH) id += ID_LETTERS[randomInt(ID_LETTERS.length)] ?? "";
  const secret = `loom_${PREFIXES[kind]}_${id}_${randomBytes(SECRET_BYTES).toString("base64url")}`;
  return { kind, id, digest: digestOf(secret), secret };
}

/** Undefined if the text does not have the form of a secret. */
export function parseKey(text: string): Key | undefined {
  const { prefix = "", id = "" } = FORM.exec(text)?.groups ?? {};
  const kind = KINDS.get(prefix);
  return kind === undefined ? undefined : { kind, id, digest: digestOf(text) };
}

/** Compares in constant time. */
export function isSameDigest(one: Uint8Array, other: Uint8Array): boolean {
  return one.byteLength === other.byteLength && timingSafeEqual(one, other);
}

function digestOf(text: string): Uint8Array {
  return createHash("sha256").update(text).digest();
}
