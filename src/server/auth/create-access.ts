/**
 * Access control of a server with authentication: combines credentials, JWTs, cookies, tickets, the application's own
 * login, scopes and limits.
 */
import { isLoomError, LoomError } from "../../protocol/index.ts";
import type { Log } from "../../log/index.ts";
import type { RequestInfo } from "../guard/read-request-info.ts";
import type { Access, AuthOptions, AuthService } from "./access.ts";
import { type Caller, createAuthorize, type Identity, mayRead } from "./authorize.ts";
import { type Auditor, NO_AUDIT, sourceOf } from "./audit/auditor.ts";
import { asksForLink, isShareSecret, readBearer, readCookies, readTicket } from "./request-credentials.ts";
import { createLogin, RECHECK_MS } from "./create-login.ts";
import { type Credentials, parseKey } from "./credentials/credentials.ts";
import { countFailure, createMemoryRateCounters, createRates } from "./limits/rates.ts";
import { FairGate } from "../guard/fair-gate.ts";
import { createAccessGrants } from "./limits/access-grants.ts";
import { openCredentials } from "./credentials/open-credentials.ts";
import {
  accountOf,
  ANONYMOUS,
  assertAgentAllowed,
  DEFAULT_PRINCIPAL_LIMITS,
  type Principal,
  unauthorized,
} from "./principal.ts";
import { createSpend } from "./limits/spend.ts";
import type { AuthenticationOutcome, CredentialKind, ServerMeter } from "../../observe/metrics/server-meter.ts";
import { createJwtVerifier } from "./jwt/verify-jwt.ts";
import { shield } from "../../observe/shield.ts";

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
/** Searches of one principal that may wait. */
const MAX_WAITING_SEARCHES = 16;
/** Loom secrets that are accepted as bearer tokens. */
const BEARER_SECRET = /^loom_(tok|shr)_/;

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
  const verify = jwt === undefined ? undefined : createJwtVerifier(jwt);
  const report = (error: unknown): void => onLoginError?.(error);
  const login = authenticate === undefined ? undefined : createLogin({ ...options, authenticate, now, report });
  const takeRate = createRates(counters, limits);
  const { maxUnrecordedMs } = options;
  const spend = createSpend({ credentials, log, tokensPerDay: limits.tokensPerDay, maxUnrecordedMs, now, onError });
  // Searches of all principals share one thread per store, so a principal with many must not fill its queue.
  const { maxSearches: slotsPerAccount = DEFAULT_PRINCIPAL_LIMITS.maxSearches } = limits;
  const searches = new FairGate({
    noun: "searches",
    code: "too_many_searches",
    slotsPerAccount,
    maxWaiting: MAX_WAITING_SEARCHES,
  });
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
      const principal = await findByBearer(bearer, request);
      if (principal.kind === "share") noteOpening(principal, now());
      return { principal, shares: [] };
    }
    const ticket = readTicket(request);
    if (ticket !== undefined) {
      const used = await credentials.useTicket(ticket, now());
      if (used === undefined) return refuse(request, ticket);
      const principal = used.session === undefined ? used.principal : { ...used.principal, only: used.session };
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
      return refuse(request);
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

  /**
   * Counts an invalid credential, or a request for which the login found no user. Throws `rate_limited`, or the same
   * `unauthorized` for all, so that a client cannot learn what was wrong with a credential.
   */
  async function refuse(request: RequestInfo, text?: string): Promise<never> {
    onRefused(text, request);
    await countFailure(counters, request.address, maxFailures);
    throw unauthorized(text !== undefined);
  }

  /** Accepts a token, a share link or a JWT, never a cookie or a ticket. Throws `unauthorized` and `rate_limited`. */
  async function findByBearer(text: string, request: RequestInfo): Promise<Principal> {
    // Valid credentials pass even when their address is blocked: many users can share one proxy address.
    const known = await (BEARER_SECRET.test(text) ? credentials.find(text, now()) : findJwt(text));
    return known ?? refuse(request, text);
  }

  async function findJwt(text: string): Promise<Principal | undefined> {
    if (verify === undefined || text.startsWith("loom_")) return undefined;
    try {
      return await verify(text);
    } catch (error) {
      // Unavailable issuer keys do not make the token invalid; report them.
      if (isLoomError(error, "unauthorized")) return undefined;
      throw error;
    }
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
    if (principal.kind !== "anonymous") return takeRate("requestsPerMinute", principal);
    for (const [at, share] of shares.entries())
      try {
        return await takeRate("requestsPerMinute", share);
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
        const principal = await findByBearer(text, request);
        await takeRate("requestsPerMinute", principal);
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
        await refuse(caller);
      }
    },
    watch: (caller, session, onEnd) => grants.watch(caller, session, onEnd),
    countRequest,
    async runSearch({ principal }, signal, search) {
      const release = await searches.enter(accountOf(principal), signal, principal.limits.maxSearches);
      try {
        return await search();
      } finally {
        release();
      }
    },
    async admitRun({ principal }, agent) {
      assertAgentAllowed(principal, agent);
      await spend.admit(principal);
      await takeRate("runsPerMinute", principal);
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

/** Counts the outcome of an authentication. A meter that fails does not affect the request. */
async function meterAuthentication<T>(
  meter: Partial<ServerMeter> | undefined,
  kind: CredentialKind,
  authenticate: () => Promise<T>,
  /** Whether a credential was found to be valid. With an unknown cookie, the request is anonymous. */
  isKnown: (result: T) => boolean,
): Promise<T> {
  const count = (outcome: AuthenticationOutcome): void =>
    shield(
      () => meter?.countAuthentication?.(kind, outcome),
      () => undefined,
    );
  try {
    const result = await authenticate();
    count(isKnown(result) ? "accepted" : kind === "none" ? "anonymous" : "rejected");
    return result;
  } catch (error) {
    count(outcomeOf(error));
    throw error;
  }
}

function outcomeOf(error: unknown): AuthenticationOutcome {
  if (isLoomError(error, "unauthorized")) return "rejected";
  return isLoomError(error, "rate_limited") ? "limited" : "failed";
}
