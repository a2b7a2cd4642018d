/**
 * Access control of a server with authentication: combines credentials, JWTs, cookies, tickets, the application's own
 * login, scopes and limits.
 */
import { isLoomError, LoomError } from "../../protocol/index.ts";
import type { Log } from "../../log/index.ts";
import type { RequestInfo } from "../guard/read-request-info.ts";
import type { Access, Identity } from "./access.ts";
import type { AuthOptions } from "./auth-options.ts";
import type { AuthService } from "./auth-service.ts";
import type { Caller } from "./authorize.ts";
import { type Auditor, NO_AUDIT, sourceOf } from "./audit/auditor.ts";
import { readCookies } from "./cookies.ts";
import { asksForLink, isShareSecret, readBearer, readTicket } from "./link-request.ts";
import { createAuthorize, mayRead } from "./create-authorize.ts";
import { createAuthenticator } from "./create-authenticator.ts";
import { createLogin, RECHECK_MS } from "./create-login.ts";
import type { Credentials } from "./credentials/credentials.ts";
import { createFailures } from "./limits/failures.ts";
import { createAccessGrants } from "./limits/access-grants.ts";
import { parseKey } from "./credentials/key.ts";
import { openCredentials } from "./credentials/open-credentials.ts";
import { ANONYMOUS, assertAgentAllowed, DEFAULT_PRINCIPAL_LIMITS, type Principal } from "./principal.ts";
import { createMemoryRateCounters } from "./limits/create-memory-rate-counters.ts";
import { createRates } from "./limits/rates.ts";
import { createSearches } from "./limits/searches.ts";
import { createSpend } from "./limits/spend.ts";
import { unauthorized } from "./unauthorized.ts";
import type { CredentialKind, ServerMeter } from "../../observe/index.ts";
import { meterAuthentication } from "./meter-authentication.ts";

export interface AccessDependencies {
  readonly log: Log;
  readonly now?: (() => number) | undefined;
  /** Receives internal errors that no request caused. */
  readonly onError?: ((error: unknown) => void) | undefined;
  /** Receives failures of `authenticate`. Default: `onError`. */
  readonly onLoginError?: ((error: unknown) => void) | undefined;
  /** Counts authentications. */
  readonly meter?: Partial<ServerMeter> | undefined;
  /** Records refused credentials. */
  readonly auditor?: Auditor | undefined;
}

const COOKIE_MS = 7 * 24 * 60 * 60 * 1000;
const TICKET_MS = 30_000;
const MAX_OPENINGS = 10_000;

export function createAccess(options: AuthOptions, dependencies: AccessDependencies): Access {
  const { log, now = Date.now, onError, onLoginError = onError, meter, auditor = NO_AUDIT } = dependencies;
  const { jwt, limits = {}, cookieMs = COOKIE_MS, ticketMs = TICKET_MS, maxFailures } = options;
  const { authenticate, recheckMs = RECHECK_MS } = options;
  // Without a credential store, cookies, tickets and share links live in memory until the process ends.
  const own = options.credentials === undefined ? openCredentials(":memory:") : undefined;
  const credentials = (options.credentials ?? own) as Credentials;
  const onRefused = (text: string | undefined, request: RequestInfo): void => {
    const key = text === undefined ? undefined : parseKey(text);
    const credential = text === undefined ? "user" : key === undefined ? "unknown" : `${key.kind}:${key.id}`;
    const source = sourceOf({ ...request, principal: ANONYMOUS });
    auditor.record({ action: "credential.refuse", source, target: { credential } }, "unauthorized");
  };
  const { rateCounters: counters = createMemoryRateCounters({ now }) } = options;
  const failures = createFailures({ counters, maxFailures });
  const authenticator = createAuthenticator({ credentials, failures, jwt, now, onRefused });
  const report = (error: unknown): void => onLoginError?.(error);
  const login = authenticate === undefined ? undefined : createLogin({ ...options, authenticate, now, report });
  const rates = createRates({ counters, limits });
  const { maxUnrecordedMs } = options;
  const spend = createSpend({ credentials, log, tokensPerDay: limits.tokensPerDay, maxUnrecordedMs, now, onError });
  const searches = createSearches({ maxSearches: limits.maxSearches });
  const isValid = async (principal: Principal): Promise<boolean> =>
    principal.login === undefined ? credentials.isValid(principal, now()) : principal.login.check() === undefined;
  const authorize = createAuthorize(log);
  /** Minute in which each link was last used by a program. */
  const openings = new Map<string, number>();
  const grants = createAccessGrants({
    isValid,
    mayRead: (holder, session) => mayRead(log, holder, session),
    maxStreams: limits.maxStreams,
    now,
    onError,
  });

  /** A bearer token that can only be one of the application's own login is left to it. */
  function readLoomBearer(request: RequestInfo): string | undefined {
    const bearer = readBearer(request);
    const isOfLogin = login !== undefined && jwt === undefined && bearer?.startsWith("loom_") === false;
    return isOfLogin ? undefined : bearer;
  }

  async function find(request: RequestInfo, skipsLogin: boolean): Promise<Identity> {
    const bearer = readLoomBearer(request);
    if (bearer !== undefined) {
      const principal = await authenticator.authenticate(bearer, request);
      if (principal.kind === "share") noteOpening(principal, now());
      return { principal, shares: [] };
    }
    const ticket = readTicket(request);
    if (ticket !== undefined) {
      const principal = await authenticator.redeemTicket(ticket, request);
      // The login cannot check a ticket. The client has to request another one when the next check would be due.
      const limited = principal.kind === "user" ? { ...principal, expiresAt: now() + recheckMs } : principal;
      return { principal: limited, shares: [] };
    }
    const { session, shares } = readCookies(request);
    const at = now();
    const isLinkOnly = asksForLink(request);
    const principal = session === undefined || isLinkOnly ? undefined : await credentials.find(session, at);
    if (session !== undefined && principal === undefined && !isLinkOnly) onRefused(session, request);
    const found = await Promise.all(shares.map((secret) => credentials.find(secret, at)));
    const links = found.flatMap((link) => (link?.kind === "share" ? [link] : []));
    const user = principal !== undefined || skipsLogin || isLinkOnly ? undefined : await login?.(request);
    // No socket is public, so this upgrade is refused.
    if (login !== undefined && request.method === "UPGRADE" && (principal ?? user ?? links[0]) === undefined)
      return refuseLogin(request);
    return { principal: principal ?? user ?? ANONYMOUS, shares: links };
  }

  /** A program sends the secret of a link with every request: counts one opening per minute. */
  function noteOpening({ id }: Principal, at: number): void {
    const minute = Math.floor(at / 60_000);
    if (openings.get(id) === minute) return;
    if (openings.size >= MAX_OPENINGS) openings.clear();
    openings.set(id, minute);
    void credentials.noteOpened(id.slice("share:".length)).catch((error: unknown) => onError?.(error));
  }

  /** Counts a request for which the login found no user. Throws `unauthorized` or `rate_limited`. */
  async function refuseLogin(request: RequestInfo): Promise<never> {
    onRefused(undefined, request);
    await failures.add(request.address);
    throw unauthorized(false);
  }

  function kindOfCredential(request: RequestInfo, skipsLogin: boolean): CredentialKind {
    const bearer = readLoomBearer(request);
    if (bearer !== undefined) return kindOfSecret(bearer);
    if (readTicket(request) !== undefined) return "ticket";
    const { session, shares } = readCookies(request);
    if (session !== undefined && !asksForLink(request)) return "cookie";
    if (shares.length > 0) return "share";
    return login === undefined || skipsLogin ? "none" : "user";
  }

  /** Counts a request with only share links against the first link that is below its limit. */
  async function countRequest({ principal, shares }: Identity): Promise<void> {
    if (principal.kind !== "anonymous") return rates.takeRequest(principal);
    for (const [at, share] of shares.entries())
      try {
        return await rates.takeRequest(share);
      } catch (error) {
        if (at === shares.length - 1) throw error;
      }
  }

  const authService: AuthService = {
    credentials,
    cookieMs,
    ticketMs,
    async authenticate(text, request) {
      const identifyPrincipal = async (): Promise<Principal> => {
        const principal = await authenticator.authenticate(text, request);
        await rates.takeRequest(principal);
        return principal;
      };
      return meterAuthentication(meter, kindOfSecret(text), identifyPrincipal, () => true);
    },
  };

  return {
    isOpen: false,
    findAuthService: () => Promise.resolve(authService),
    openAuthService: () => Promise.resolve(authService),
    async identify(request, { skipsLogin = false } = {}) {
      const identifyCaller = async (): Promise<Identity> => {
        const identity = await find(request, skipsLogin);
        await countRequest(identity);
        return identity;
      };
      const isKnown = ({ principal, shares }: Identity): boolean => principal.kind !== "anonymous" || shares.length > 0;
      return meterAuthentication(meter, kindOfCredential(request, skipsLogin), identifyCaller, isKnown);
    },
    async authorize(request) {
      const { caller } = request;
      try {
        await authorize({ ...request, caller: await revalidateCaller(caller, isValid) });
      } catch (error) {
        const isAnonymous = caller.principal.kind === "anonymous" && isLoomError(error, "unauthorized");
        if (login === undefined || !isAnonymous) throw error;
        await refuseLogin(caller);
      }
    },
    watch: (caller, session, onEnd) => grants.watch(caller, session, onEnd),
    countRequest,
    runSearch: ({ principal }, signal, search) => searches.run(principal, signal, search),
    async admitRun({ principal }, agent) {
      assertAgentAllowed(principal, agent);
      await spend.admit(principal);
      await rates.takeRun(principal);
    },
    runLimitOf({ principal }) {
      const { maxRuns = limits.maxRuns ?? DEFAULT_PRINCIPAL_LIMITS.maxRuns } = principal.limits;
      return principal.kind === "local" ? undefined : { actor: principal.id, maxRuns };
    },
    async admitTurn({ actor, signal }) {
      if (actor === undefined) return;
      if (!(await credentials.isNotRevoked(actor)))
        throw new LoomError("unauthorized", "The token that requested this run was revoked before the run started");
      await spend.waitUntilRecorded(actor, signal);
    },
    countTokens: (actor, tokens) => spend.count(actor, tokens),
    observers: [spend.observer],
    async close() {
      grants.close();
      await spend.close();
      await own?.close();
    },
  };
}

function kindOfSecret(text: string): CredentialKind {
  if (isShareSecret(text)) return "share";
  return text.startsWith("loom_") ? "token" : "jwt";
}

/**
 * Checks the caller's credentials again, for example long after a socket opened. Throws `unauthorized` if the credential
 * is no longer valid, and returns the caller without its revoked share links.
 */
async function revalidateCaller(caller: Caller, isValid: (principal: Principal) => Promise<boolean>): Promise<Caller> {
  const { principal, shares } = caller;
  // The end of a long upload may be the first time that a check is due: wait for it.
  const ended = await principal.login?.confirm();
  if (ended !== undefined) throw ended;
  if (principal.kind !== "anonymous" && !(await isValid(principal))) throw unauthorized(true);
  if (shares.length === 0) return caller;
  const verdicts = await Promise.all(shares.map(isValid));
  return { ...caller, shares: shares.filter((_, at) => verdicts[at]) };
}
