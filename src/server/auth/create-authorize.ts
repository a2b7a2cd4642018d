/**
 * Who may do what, by their credential: the scope it has, the owner of the session, and the links that were opened.
 *
 * Invariants:
 * - A session of somebody else is refused with the error of one that does not exist, before anything else is said of it;
 *   only what may make a session passes for one that does not exist.
 * - What depends on the credential alone is refused alike, whatever session is named.
 */
import type { Log, SessionInfo } from "../../log/index.ts";
import { unknownSession } from "../../log/rules.ts";
import { LoomError } from "../../protocol/index.ts";
import type { Action, Caller, Authorize } from "../guard/authorize.ts";
import type { Principal } from "./principal.ts";
import { isShared, mayMake, type Scope, scopeOf } from "./scopes.ts";
import { unauthorized } from "./unauthorized.ts";

type Sessions = Pick<Log, "getSession">;
type Holder = Pick<Caller, "principal" | "shares">;

export function createAuthorize(log: Sessions): Authorize {
  return async ({ caller, action, session }) => {
    const scope = scopeOf(action);
    if (scope === undefined) return;
    if (isShared(action) && (await isLetIn(log, caller, session))) return;
    const { principal } = caller;
    assertScope(principal, action, scope);
    if (session === undefined) return assertUnbound(principal, action);
    // A link to another session knows of no other; so does a ticket.
    if (principal.kind === "share" || !isFor(principal, session)) throw unknownSession(session);
    const info = await log.getSession(session);
    if (info === undefined ? !mayMake(action) : !isTheirs(principal, info)) throw unknownSession(session);
  };
}

/** Whether somebody may go on reading; true of a session that is gone, which no reader is given anything of. */
export async function mayRead(log: Sessions, { principal, shares }: Holder, session: string): Promise<boolean> {
  const info = await log.getSession(session);
  if (info === undefined) return true;
  const reader = findReader({ principal, shares }, info);
  return reader !== undefined && isFor(reader, session);
}

/** Whose leave it is to read a session that is there: their own, or that of a link. Undefined where they have none. */
export function findReader({ principal, shares }: Holder, info: SessionInfo): Principal | undefined {
  if (principal.kind !== "share" && hasScope(principal, "read") && isTheirs(principal, info)) return principal;
  return listLinks({ principal, shares }).find((link) => isOf(link, info));
}

/** By a link: to this session as it is; where none is named yet, to any, since it is asked again when one is. */
async function isLetIn(log: Sessions, caller: Holder, session: string | undefined): Promise<boolean> {
  const links = listLinks(caller).filter((link) => session === undefined || link.session?.id === session);
  if (links.length === 0 || session === undefined) return links.length > 0;
  const info = await log.getSession(session);
  return info !== undefined && links.some((link) => isOf(link, info));
}

function listLinks({ principal, shares }: Holder): readonly Principal[] {
  return [principal, ...shares].filter(({ kind }) => kind === "share");
}

/** Deleted and made anew it is another session, whosever, and the link is for neither. */
function isOf({ session }: Principal, { sessionId, incarnation }: SessionInfo): boolean {
  return session?.id === sessionId && session.incarnation === incarnation;
}

function assertScope(principal: Principal, action: Action, scope: Scope): void {
  const { kind } = principal;
  if (kind === "nobody") throw unauthorized(false);
  if (kind === "share") {
    if (isShared(action)) return;
    throw new LoomError("forbidden", "a link to a session is for reading it, and for nothing else");
  }
  if (hasScope(principal, scope)) return;
  throw new LoomError("forbidden", `this needs the scope \`${scope}\`, which the credential does not have`, { scope });
}

/** What is about no session, or about all of them, is not for a ticket that is for one. */
function assertUnbound({ only }: Principal, action: Action): void {
  if (only === undefined || isShared(action)) return;
  throw new LoomError("forbidden", "this ticket is for one session, and for nothing else");
}

function hasScope({ scopes }: Principal, scope: Scope): boolean {
  return scopes.has(scope) || scopes.has("admin");
}

function isFor({ only }: Principal, session: string): boolean {
  return only === undefined || only === session;
}

function isTheirs({ owner, scopes }: Principal, info: SessionInfo): boolean {
  return info.owner === owner || scopes.has("admin");
}
