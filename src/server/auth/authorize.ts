/**
 * Decides what a caller may do by the scopes of its credential, the owner of the session and its share links. Every
 * endpoint asks before it acts, and again for every session a request names.
 *
 * Invariants:
 * - A session of another owner is rejected before any other check of the session, exactly like one that does not exist.
 *   Only an action that would create the session learns that its ID is taken: that it is not created says so anyway.
 * - A rejection that depends on the credential alone is the same for every session.
 */
import type { RequestInfo } from "../guard/read-request-info.ts";
import { type Principal, unauthorized } from "./principal.ts";
import { type Action, isAllowedByShareLink, mayCreateSession, type Scope, scopeOf } from "./scopes.ts";
import type { Log, SessionInfo } from "../../log/index.ts";
import { sessionIdTaken, unknownSession } from "../../log/rules.ts";
import { isLoomError, LoomError } from "../../protocol/index.ts";

/** Who sent a request. */
export interface Identity {
  readonly principal: Principal;
  /** Share links opened in the same browser; each allows reading its session. */
  readonly shares: readonly Principal[];
}

/** A request with its identified principal. */
export interface Caller extends RequestInfo, Identity {}

/** The action to authorize. */
export interface AuthorizeRequest {
  readonly caller: Caller;
  readonly action: Action;
  /** Id of the session the action is about, if it is about one. */
  readonly session?: string | undefined;
}

/** Returns if the action is allowed; throws `forbidden`, `unauthorized` or `unknown_session` if not. */
export type Authorize = (request: AuthorizeRequest) => Promise<void> | void;

export const allowAll: Authorize = () => undefined;

/** Whether the action is allowed. Throws errors other than a refusal. */
export async function isAllowed(authorize: Authorize, request: AuthorizeRequest): Promise<boolean> {
  try {
    await authorize(request);
    return true;
  } catch (error) {
    if (isLoomError(error, "forbidden", "unauthorized", "unknown_session")) return false;
    throw error;
  }
}

type Sessions = Pick<Log, "getSession">;

export function createAuthorize(log: Sessions): Authorize {
  return async ({ caller, action, session }) => {
    const scope = scopeOf(action);
    if (scope === undefined) return;
    if (isAllowedByShareLink(action) && (await isAllowedByLink(log, caller, session))) return;
    const { principal } = caller;
    assertScope(principal, action, scope);
    if (session === undefined) return assertUnbound(principal, action);
    // Other sessions do not exist for a share link, nor for a ticket that is bound to one session.
    if (principal.kind === "share" || !coversSession(principal, session)) throw unknownSession(session);
    const info = await log.getSession(session);
    if (info !== undefined && ownsSession(principal, info)) return;
    if (!mayCreateSession(action)) throw unknownSession(session);
    if (info !== undefined) throw sessionIdTaken(session);
  };
}

/** Whether the holder may keep reading. True for a deleted session: its readers receive nothing anyway. */
export async function mayRead(log: Sessions, { principal, shares }: Identity, session: string): Promise<boolean> {
  const info = await log.getSession(session);
  if (info === undefined) return true;
  const reader = findReader({ principal, shares }, info);
  return reader !== undefined && coversSession(reader, session);
}

/** Returns the principal that allows reading the session: the caller's own or a share link. Undefined if none does. */
export function findReader({ principal, shares }: Identity, info: SessionInfo): Principal | undefined {
  if (principal.kind !== "share" && hasScope(principal, "read") && ownsSession(principal, info)) return principal;
  return listLinks({ principal, shares }).find((link) => isLinkTo(link, info));
}

/**
 * Whether a share link allows this. Without a session any link is enough: authorization runs again when the session is
 * known.
 */
async function isAllowedByLink(log: Sessions, caller: Identity, session: string | undefined): Promise<boolean> {
  const links = listLinks(caller).filter((link) => session === undefined || link.session?.id === session);
  if (links.length === 0 || session === undefined) return links.length > 0;
  const info = await log.getSession(session);
  return info !== undefined && links.some((link) => isLinkTo(link, info));
}

function listLinks({ principal, shares }: Identity): readonly Principal[] {
  return [principal, ...shares].filter(({ kind }) => kind === "share");
}

/** A session that was deleted and recreated has another incarnation; the link is not valid for it. */
function isLinkTo({ session }: Principal, { sessionId, incarnation }: SessionInfo): boolean {
  return session?.id === sessionId && session.incarnation === incarnation;
}

function assertScope(principal: Principal, action: Action, scope: Scope): void {
  const { kind } = principal;
  if (kind === "anonymous") throw unauthorized(false);
  if (kind === "share") {
    if (isAllowedByShareLink(action)) return;
    throw new LoomError("forbidden", "A share link only allows reading its session");
  }
  if (hasScope(principal, scope)) return;
  throw new LoomError("forbidden", `Missing scope \`${scope}\`; use a token that has it`, { scope });
}

/** A ticket for one session does not allow actions on no session or on all sessions. */
function assertUnbound({ only }: Principal, action: Action): void {
  if (only === undefined || isAllowedByShareLink(action)) return;
  throw new LoomError("forbidden", "This ticket is valid for one session only");
}

function hasScope({ scopes }: Principal, scope: Scope): boolean {
  return scopes.has(scope) || scopes.has("admin");
}

function coversSession({ only }: Principal, session: string): boolean {
  return only === undefined || only === session;
}

function ownsSession({ owner, scopes }: Principal, info: SessionInfo): boolean {
  return info.owner === owner || scopes.has("admin");
}
