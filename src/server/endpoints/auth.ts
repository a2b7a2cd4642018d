/**
 * Signing in and out, and tickets: how somebody who is known by a token gets something else to be known by, where a token
 * cannot be brought. A browser gets a cookie; sockets and streams of browsers, which take no header, a ticket.
 */
import { LoomError } from "../../protocol/index.ts";
import { type AnyOperation, defineOperation } from "../api/operation.ts";
import type { Auth, Ticket } from "../api/shapes.generated.ts";
import type { AccessDesk } from "../auth/access-desk.ts";
import { clearCookies, readCookies, readPage, writeSessionCookie, writeShareCookie } from "../auth/cookies.ts";
import { findReader } from "../auth/create-authorize.ts";
import type { Principal } from "../auth/principal.ts";
import { SCOPES } from "../auth/scopes.ts";
import { unauthorized } from "../auth/unauthorized.ts";
import type { Caller } from "../guard/authorize.ts";
import type { ServerCore } from "../server-core.ts";
import { findSession } from "./find-session.ts";

const NO_STORE = { "cache-control": "no-store" } as const;

const getAuth = defineOperation({
  id: "getAuth",
  method: "GET",
  path: "/v1/auth",
  tag: "auth",
  summary: "Who asks, what they may do, and whether anybody is asked who they are",
  action: "public",
  answers: { 200: { about: "Who asks", shape: "Auth" } },
  handle: (core, { caller }) => Response.json(describeAsker(core, caller), { headers: NO_STORE }),
});

const signIn = defineOperation<"Nothing", "SignIn">({
  id: "signIn",
  method: "POST",
  path: "/v1/auth/sign-in",
  tag: "auth",
  summary: "Gives a browser a cookie in place of a token, a JWT or a link",
  description: "Scripts cannot read the cookie, and it counts only for pages of this server's own origin.",
  body: "SignIn",
  action: "public",
  answers: { 200: { about: "Who asks from now on, and `Set-Cookie`", shape: "Auth" } },
  async handle(core, { caller, body: { credential } }) {
    assertOwnPage(caller);
    const desk = findDesk(core);
    const secret = credential.trim();
    const principal = await desk.recognize(secret, caller);
    const expiresAt = Math.min(Date.now() + desk.cookieMs, principal.expiresAt ?? Infinity);
    const options = { basePath: core.basePath, expiresAt };
    const headers = new Headers(NO_STORE);
    if (principal.kind === "share") {
      // Beside whoever is signed in: a link that is opened takes nothing away.
      headers.append("set-cookie", writeShareCookie(caller, readShareId(principal), secret, options));
      const answer = describeAsker(core, { ...caller, shares: [...caller.shares, principal] });
      return Response.json(withSession(answer, principal), { headers });
    }
    const cookie = desk.credentials.createCookie(principal, expiresAt);
    forgetCookie(desk, caller);
    headers.append("set-cookie", writeSessionCookie(caller, cookie.secret, options));
    return Response.json(describeAsker(core, { ...caller, principal: { ...principal, expiresAt } }), { headers });
  },
});

const signOut = defineOperation({
  id: "signOut",
  method: "POST",
  path: "/v1/auth/sign-out",
  tag: "auth",
  summary: "Makes the cookie of a browser worthless, and ends what was opened with it",
  action: "public",
  answers: { 204: { about: "Nobody is signed in; `Set-Cookie` takes the cookies back" } },
  handle(core, { caller }) {
    assertOwnPage(caller);
    const { desk } = core.access;
    if (desk !== undefined) forgetCookie(desk, caller);
    // What the browser kept of what was seen goes, too; not its cookies, which those of other ports are among.
    const headers = new Headers({ ...NO_STORE, "clear-site-data": '"cache"' });
    for (const cookie of clearCookies(caller, core)) headers.append("set-cookie", cookie);
    return new Response(null, { status: 204, headers });
  },
});

const createTicket = defineOperation<"Nothing", "CreateTicket">({
  id: "createTicket",
  method: "POST",
  path: "/v1/auth/tickets",
  tag: "auth",
  summary: "A ticket: `?ticket=` lets one socket or one stream in, where no header can be sent",
  description: "It is good once, for a short time, and for no more than whoever asked for it may do.",
  body: "CreateTicket",
  isBodyRequired: false,
  action: "public",
  answers: { 201: { about: "The ticket", shape: "Ticket" } },
  async handle(core, { caller, body: { session_id: session } }) {
    const { credentials, ticketMs } = findDesk(core);
    const principal = await findHolder(core, caller, session);
    const { secret, info } = credentials.createTicket(principal, { session, expiresAt: Date.now() + ticketMs });
    const ticket: Ticket = { ticket: secret, expires_at: info.expiresAt };
    return Response.json(ticket, { status: 201, headers: NO_STORE });
  },
});

export const AUTH_OPERATIONS: readonly AnyOperation[] = [getAuth, signIn, signOut, createTicket];

/** Throws `unsupported` where nobody is asked who they are. */
export function findDesk({ access }: Pick<ServerCore, "access">): AccessDesk {
  if (access.desk !== undefined) return access.desk;
  throw new LoomError(
    "unsupported",
    "this server asks nobody who they are: there is nothing to sign in to or to share",
  );
}

/** What a cookie is worth only to our own page must not be set or taken by another. */
function assertOwnPage(caller: Caller): void {
  if (readPage(caller) !== "foreign") return;
  throw new LoomError(
    "forbidden",
    "only this server's own page may sign in or out; others bring a token with each request",
  );
}

/** Also of one who signs in again: no cookie outlives its use. */
function forgetCookie({ credentials }: AccessDesk, caller: Caller): void {
  const { session } = readCookies(caller);
  if (session !== undefined) credentials.deleteCookie(session);
}

/** For whom a ticket is: a link's where only the link lets its session be read. Throws as reading it would. */
async function findHolder(core: ServerCore, caller: Caller, session: string | undefined): Promise<Principal> {
  const { principal, shares } = caller;
  if (session === undefined) {
    if (principal.kind !== "nobody") return principal;
    throw unauthorized(false);
  }
  await core.authorize({ caller, action: "sessions.read", session });
  return findReader({ principal, shares }, await findSession(core.log, session)) ?? principal;
}

function describeAsker({ access }: ServerCore, { principal, shares }: Caller): Auth {
  const shared_session_ids = [...new Set(shares.flatMap(({ session }) => session?.id ?? []))];
  if (access.isOpen) return { mode: "open", signed_in: false, scopes: SCOPES, shared_session_ids };
  const { kind, name, owner, expiresAt } = principal;
  if (kind === "nobody" || kind === "local")
    return { mode: "required", signed_in: false, scopes: [], shared_session_ids };
  const answer: Auth = {
    mode: "required",
    signed_in: kind !== "share",
    kind,
    // Whose the session is that a link leads to is not told to whoever has the link.
    ...(kind === "share" ? {} : { name, owner }),
    scopes: SCOPES.filter((scope) => principal.scopes.has(scope)),
    shared_session_ids,
    ...(expiresAt === undefined ? {} : { expires_at: expiresAt }),
  };
  return kind === "share" ? withSession(answer, principal) : answer;
}

function withSession(answer: Auth, { session }: Principal): Auth {
  return session === undefined ? answer : { ...answer, session_id: session.id };
}

/** `share:p0q2` has it. */
function readShareId({ id }: Principal): string {
  return id.slice(id.indexOf(":") + 1);
}
