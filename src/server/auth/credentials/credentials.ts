/**
 * Who was given what: tokens, cookies, tickets and links, and what was used up. All processes before one store share it,
 * so what one revokes the others know. Secrets are never in it, only what they can be recognised by.
 */
import type { Principal, PrincipalLimits, ToolRules } from "../principal.ts";
import type { Scope } from "../scopes.ts";

export interface NewToken {
  readonly name: string;
  /** `local` when absent: the owner of all that was made without authentication. */
  readonly owner?: string | undefined;
  /** The usual ones when absent. */
  readonly scopes?: readonly Scope[] | undefined;
  readonly agents?: readonly string[] | undefined;
  readonly tools?: ToolRules | undefined;
  readonly limits?: PrincipalLimits | undefined;
  /** Milliseconds since 1970; never when absent. */
  readonly expiresAt?: number | undefined;
}

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
  /** To the minute. */
  readonly usedAt?: number | undefined;
}

export interface NewShare {
  readonly session: string;
  readonly incarnation: string;
  readonly owner: string;
  /**
   * The principal that makes it, by its id. A link ends with the token that made it, and all links of one maker are
   * counted together, by the limits the maker has. Each for itself when absent.
   */
  readonly maker?: string | undefined;
  readonly expiresAt?: number | undefined;
}

export interface ShareInfo extends NewShare {
  readonly shareId: string;
  readonly createdAt: number;
}

/** What is told once, and never again. */
export interface Issued<Info> {
  readonly secret: string;
  readonly info: Info;
}

export interface TicketRequest {
  /** Only for this session; for any of the principal's when absent. */
  readonly session?: string | undefined;
  readonly expiresAt: number;
}

export interface Credentials {
  createToken(token: NewToken): Issued<TokenInfo>;
  /** Newest first, those that are revoked or over included. */
  listTokens(): readonly TokenInfo[];
  /**
   * By its id or its name; links that were made with it are taken back. False where there is none that was not revoked
   * before.
   */
  revokeToken(idOrName: string): boolean;
  /** True once there was one, whatever became of it: a door that asked for tokens never opens by itself again. */
  readonly hasTokens: boolean;

  createShare(share: NewShare): Issued<ShareInfo>;
  /** Of a session as it is, newest first, without those that are over. */
  listShares(session: string, incarnation: string): readonly ShareInfo[];
  revokeShare(session: string, shareId: string): boolean;

  /**
   * A cookie for whoever has shown a token: as good as the token, for as long as it is and the cookie is not deleted.
   * Whoever it is for is kept with it where the store knows no token of theirs, as with a JWT.
   */
  createCookie(principal: Principal, expiresAt: number): Issued<{ readonly expiresAt: number }>;
  deleteCookie(secret: string): void;

  /** Good once, for whoever it was made for, and no longer than they are. */
  createTicket(principal: Principal, request: TicketRequest): Issued<{ readonly expiresAt: number }>;
  /** Undefined where it is unknown, used or over. It is used from now on, whatever comes of it. */
  useTicket(secret: string, now?: number): { readonly principal: Principal; readonly session?: string } | undefined;

  /** Of a token, a link or a cookie. Undefined where it is unknown, revoked or over. */
  find(secret: string, now?: number): Principal | undefined;
  /**
   * Whether what once was found would be found now. Those it does not keep, JWT say, are good until they end. Cheap
   * enough to be asked every second. Throws `store_…` where it cannot be told.
   */
  isGood(principal: Principal, now?: number): boolean;

  /** Whether a principal of this id has not been revoked. True of those it does not keep, and of one that is only over. */
  isIssued(principalId: string): boolean;

  /** What models used up for a principal on a day of UTC. */
  addSpent(principalId: string, tokens: number, now?: number): void;
  readSpent(principalId: string, now?: number): number;

  close(): void;
}
