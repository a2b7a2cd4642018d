/**
 * Endpoints for signing in and out, and for tickets: they exchange a token for a credential that works where a token
 * cannot be sent. Browsers get a cookie; browser sockets and event streams, which cannot send headers, get a ticket.
 */
import { LoomError } from "../../protocol/index.ts";
import { type AnyOperation, defineOperation } from "../api/operation.ts";
import type { Auth, Ticket } from "../api/shapes.generated.ts";
import { sourceOf } from "../auth/audit/auditor.ts";
import type { AuthService } from "../auth/access.ts";
import {
  clearCookies,
  findPageOrigin,
  isShareSecret,
  readCookies,
  writeSessionCookie,
  writeShareCookie,
} from "../auth/request-credentials.ts";
import { type Caller, findReader } from "../auth/authorize.ts";
import { type Principal, unauthorized } from "../auth/principal.ts";
import { SCOPES } from "../auth/scopes.ts";
import type { ServerCore } from "../api/server-core.ts";
import { findSession } from "./find-session.ts";

const getAuth = defineOperation({
  id: "getAuth",
  method: "GET",
  path: "/v1/auth",
  summary: "Get the caller's identity and permissions",
  action: "public",
  responses: { 200: { description: "Identity of the caller", shape: "Auth" } },
  handle: (core, { caller }) => Response.json(describeCaller(core, caller)),
});

const signIn = defineOperation<"Empty", "SignIn">({
  id: "signIn",
  method: "POST",
  path: "/v1/auth/sign-in",
  summary: "Sign in: exchange a token, a JWT or a share link for a cookie",
  description: "The cookie is not readable by scripts and only valid for pages of the server's own origin.",
  body: "SignIn",
  action: "public",
  audit: "sign_in",
  responses: { 200: { description: "Identity after signing in; the cookie is in `Set-Cookie`", shape: "Auth" } },
  async handle(core, { caller, body: { credential }, noteAudit }) {
    assertSameOrigin(caller);
    const secret = credential.trim();
    const { access } = core;
    const authService = await access.findAuthService();
    if (authService === undefined) throw describeUnknown(secret);
    const principal = await authService.authenticate(secret, caller);
    const session = principal.session?.id;
    noteAudit({ source: sourceOf({ ...caller, principal }), target: session === undefined ? {} : { session } });
    const expiresAt = Math.min(Date.now() + authService.cookieMs, principal.expiresAt ?? Infinity);
    const options = { basePath: core.basePath, expiresAt };
    const headers = new Headers();
    if (principal.kind === "share") {
      await authService.credentials.noteOpened(readShareId(principal));
      // A signed-in user stays signed in; the cookie of the link is added.
      headers.append("set-cookie", writeShareCookie(caller, readShareId(principal), secret, options));
      const answer = describeCaller(core, { ...caller, shares: [...caller.shares, principal] });
      return Response.json(withSharedSession(answer, principal), { headers });
    }
    const cookie = await authService.credentials.createCookie(principal, expiresAt);
    await deleteSessionCookie(authService, caller);
    headers.append("set-cookie", writeSessionCookie(caller, cookie.secret, options));
    return Response.json(describeCaller(core, { ...caller, principal: { ...principal, expiresAt } }), { headers });
  },
});

const signOut = defineOperation({
  id: "signOut",
  method: "POST",
  path: "/v1/auth/sign-out",
  summary: "Sign out: revoke the cookie and close connections opened with it",
  action: "public",
  responses: { 204: { description: "Signed out; `Set-Cookie` removes the cookies" } },
  async handle(core, { caller }) {
    assertSameOrigin(caller);
    const authService = await core.access.findAuthService();
    if (authService !== undefined) await deleteSessionCookie(authService, caller);
    if (readCookies(caller).session !== undefined && caller.principal.kind !== "anonymous")
      core.auditor.record({ action: "sign_out", source: sourceOf(caller) }, "done");
    // Clear cached responses, but not all cookies: cookies are shared between ports, and other servers may use them.
    const headers = new Headers({ "clear-site-data": '"cache"' });
    for (const cookie of clearCookies(caller, core)) headers.append("set-cookie", cookie);
    return new Response(null, { status: 204, headers });
  },
});

const createTicket = defineOperation<"Empty", "CreateTicket">({
  id: "createTicket",
  method: "POST",
  path: "/v1/auth/tickets",
  summary: "Create a ticket: `?ticket=` authenticates one socket or stream request",
  description: "A ticket is valid once, for a short time, with at most the permissions of the caller.",
  body: "CreateTicket",
  isBodyRequired: false,
  action: "public",
  responses: { 201: { description: "Ticket", shape: "Ticket" } },
  async handle(core, { caller, body: { session_id: session } }) {
    const { access } = core;
    const { kind } = caller.principal;
    const authService = kind === "local" ? undefined : await access.findAuthService();
    if (authService === undefined)
      throw new LoomError("unsupported", "Authentication is off on this server, so no ticket is needed");
    const { credentials, ticketMs } = authService;
    const principal = await findTicketPrincipal(core, caller, session);
    const { secret, info } = await credentials.createTicket(principal, { session, expiresAt: Date.now() + ticketMs });
    const ticket: Ticket = { ticket: secret, expires_at: info.expiresAt };
    return Response.json(ticket, { status: 201 });
  },
});

export const AUTH_OPERATIONS: readonly AnyOperation[] = [getAuth, signIn, signOut, createTicket];

/** Why a credential is refused while authentication is off and no share link exists. */
function describeUnknown(secret: string): LoomError {
  if (isShareSecret(secret)) return unauthorized(true);
  return new LoomError("unsupported", "Authentication is off on this server, so there is nothing to sign in to");
}

/** Only pages of this server may set or remove its cookies. */
function assertSameOrigin(caller: Caller): void {
  if (findPageOrigin(caller) !== "foreign") return;
  throw new LoomError(
    "forbidden",
    "Only pages of this server can sign in or out; send a token with each request instead",
  );
}

/** Also called when a user signs in again, so that no unused cookie stays valid. */
async function deleteSessionCookie({ credentials }: AuthService, caller: Caller): Promise<void> {
  const { session } = readCookies(caller);
  if (session !== undefined) await credentials.deleteCookie(session);
}

/**
 * The principal a ticket is issued for: the share link if only that grants access to the session, otherwise the caller.
 * Throws as reading the session would.
 */
async function findTicketPrincipal(core: ServerCore, caller: Caller, session: string | undefined): Promise<Principal> {
  const { principal, shares } = caller;
  if (session === undefined) {
    if (principal.kind !== "anonymous") return principal;
    // Records and counts the refusal as for every other endpoint.
    await core.authorize({ caller, action: "sessions.read" });
    throw unauthorized(false);
  }
  await core.authorize({ caller, action: "sessions.read", session });
  return findReader({ principal, shares }, await findSession(core.log, session)) ?? principal;
}

function describeCaller({ access }: ServerCore, { principal, shares }: Caller): Auth {
  const shared_session_ids = [...new Set(shares.flatMap(({ session }) => session?.id ?? []))];
  const { kind, name, owner, expiresAt } = principal;
  if (kind === "local") return { mode: "open", signed_in: false, scopes: SCOPES, shared_session_ids };
  const mode = access.isOpen ? "links" : "required";
  if (kind === "anonymous") return { mode, signed_in: false, scopes: [], shared_session_ids };
  const answer: Auth = {
    mode,
    signed_in: kind !== "share",
    kind,
    // Do not reveal the owner of a shared session to users of the link.
    ...(kind === "share" ? {} : { name, owner }),
    scopes: SCOPES.filter((scope) => principal.scopes.has(scope)),
    shared_session_ids,
    ...(expiresAt === undefined ? {} : { expires_at: expiresAt }),
  };
  return kind === "share" ? withSharedSession(answer, principal) : answer;
}

function withSharedSession(answer: Auth, { session }: Principal): Auth {
  return session === undefined ? answer : { ...answer, session_id: session.id };
}

/** The part after the colon, as in `share:p0q2`. */
function readShareId({ id }: Principal): string {
  return id.slice(id.indexOf(":") + 1);
}
