/**
 * Watches the credentials of live streams and sockets, and ends a stream when its credentials are revoked or expire or
 * its session is no longer readable. `onEnd` is called once, within two sweeps.
 *
 * Invariants:
 * - A sweep checks each credential once, and each session once per set of credentials, for any number of streams.
 * - The timer runs only while something is watched, and sending a record costs nothing.
 * - If the credential store fails three sweeps in a row, or does not answer for as long, all streams end, with a code
 *   that tells clients to connect again.
 */
import { LoomError } from "../../../protocol/index.ts";
import type { Identity } from "../authorize.ts";
import { accessEnded, accountOf, DEFAULT_PRINCIPAL_LIMITS, type Principal, unauthorized } from "../principal.ts";

export interface AccessGrantsOptions {
  /** Whether the principal is still valid. */
  readonly isValid: (principal: Principal) => Promise<boolean>;
  /** Whether the holder may read the session now. True for a deleted session: its reader notices that itself. */
  readonly mayRead: (holder: Identity, session: string) => Promise<boolean>;
  /** Maximum streams and sockets of a principal that sets no limit. Default: 100. Code `too_many_streams`. */
  readonly maxStreams?: number | undefined;
  /** Time between two sweeps, in milliseconds. Default: 1,000. */
  readonly intervalMs?: number | undefined;
  readonly now?: (() => number) | undefined;
  /** Receives errors of failed checks and of `onEnd`. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

export interface AccessGrants {
  /**
   * Returns a function that ends the watch. Throws `unauthorized` for a holder without credentials, and
   * `too_many_streams`.
   */
  watch(holder: Identity, session: string | undefined, onEnd: (why: LoomError) => void): () => void;
  /** Number of watched streams and sockets. */
  readonly size: number;
  close(): void;
}

interface AccessGrant {
  /** The grant ends when none of these credentials is valid. */
  readonly credentials: readonly GrantCredential[];
  readonly onEnd: (why: LoomError) => void;
  readonly sessionGrants: SessionGrants | undefined;
}

type ValidityCheck = (credential: GrantCredential) => Promise<boolean>;

interface GrantCredential {
  readonly key: string;
  readonly principal: Principal;
}

/** All grants for one session with the same credentials. */
interface SessionGrants {
  readonly key: string;
  readonly holder: Identity;
  readonly session: string;
  readonly grants: Set<AccessGrant>;
}

const INTERVAL_MS = 1000;
/** Time limit for session checks in one sweep; the next sweep continues with the rest. */
const SESSION_CHECK_MS = 50;
const MAX_FAILED_SWEEPS = 3;

const ignore = (): void => undefined;

const createUnchecked = (): LoomError =>
  new LoomError("store_unavailable", "The credentials cannot be checked at the moment; connect again");

export function createAccessGrants(options: AccessGrantsOptions): AccessGrants {
  const {
    isValid,
    mayRead,
    maxStreams = DEFAULT_PRINCIPAL_LIMITS.maxStreams,
    intervalMs = INTERVAL_MS,
    now = Date.now,
    onError = ignore,
  } = options;
  const grants = new Set<AccessGrant>();
  /** Ordered by last check, oldest first. */
  const sessions = new Map<string, SessionGrants>();
  /** Streams and sockets by account. */
  const counts = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  let isSweeping = false;
  let isChecking = false;
  let failedSweeps = 0;

  function release(grant: AccessGrant, account: string): void {
    if (!grants.delete(grant)) return;
    const left = (counts.get(account) ?? 1) - 1;
    if (left === 0) counts.delete(account);
    else counts.set(account, left);
    const { sessionGrants } = grant;
    sessionGrants?.grants.delete(grant);
    if (sessionGrants?.grants.size === 0 && sessions.get(sessionGrants.key) === sessionGrants)
      sessions.delete(sessionGrants.key);
    if (grants.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  function end(grant: AccessGrant, why: LoomError): void {
    // The stream may have closed while its credential was checked.
    if (!grants.has(grant)) return;
    const [first] = grant.credentials as readonly [GrantCredential, ...GrantCredential[]];
    release(grant, accountOf(first.principal));
    try {
      grant.onEnd(why);
    } catch (error) {
      onError(error);
    }
  }

  /** Caches the result per credential for one sweep. */
  function createValidityCheck(): ValidityCheck {
    const known = new Map<string, Promise<boolean>>();
    return async ({ key, principal }) => {
      if (isExpired(principal, now())) return false;
      let verdict = known.get(key);
      if (verdict === undefined) known.set(key, (verdict = isValid(principal)));
      return verdict;
    };
  }

  async function sweep(): Promise<void> {
    if (isSweeping) {
      countFailedSweep();
      return;
    }
    isSweeping = true;
    const isStillValid = createValidityCheck();
    try {
      for (const grant of grants)
        if (!(await isAnyValid(grant.credentials, isStillValid))) end(grant, describeEnd(grant));
      failedSweeps = 0;
    } catch (error) {
      onError(error);
      countFailedSweep();
      return;
    } finally {
      isSweeping = false;
    }
    if (!isChecking && sessions.size > 0) void checkSessions(isStillValid);
  }

  function countFailedSweep(): void {
    if (++failedSweeps >= MAX_FAILED_SWEEPS) for (const grant of grants) end(grant, createUnchecked());
  }

  async function checkSessions(isStillValid: ValidityCheck): Promise<void> {
    isChecking = true;
    const until = performance.now() + SESSION_CHECK_MS;
    // Checked sessions move to the end; the counter stops the loop after one round.
    let left = sessions.size;
    for (const sessionGrants of sessions.values()) {
      if (left-- === 0 || performance.now() >= until) break;
      sessions.delete(sessionGrants.key);
      sessions.set(sessionGrants.key, sessionGrants);
      if (!(await mayStillRead(sessionGrants, isStillValid)))
        for (const grant of sessionGrants.grants) end(grant, describeEnd(grant));
    }
    isChecking = false;
  }

  async function mayStillRead({ holder, session }: SessionGrants, isStillValid: ValidityCheck): Promise<boolean> {
    try {
      const verdicts = await Promise.all(holder.shares.map((share) => isStillValid(toGrantCredential(share))));
      return await mayRead({ ...holder, shares: holder.shares.filter((_, at) => verdicts[at]) }, session);
    } catch (error) {
      // On failure, keep the stream: a reader stays bound to the session it opened, even if the ID is reused.
      onError(error);
      return true;
    }
  }

  function findSessionGrants(holder: Identity, session: string): SessionGrants {
    const key = JSON.stringify([
      session,
      ...[holder.principal, ...holder.shares].map((one) => toGrantCredential(one).key),
    ]);
    const known = sessions.get(key);
    if (known !== undefined) return known;
    const sessionGrants: SessionGrants = { key, holder, session, grants: new Set() };
    sessions.set(key, sessionGrants);
    return sessionGrants;
  }

  return {
    get size() {
      return grants.size;
    },

    watch(holder, session, onEnd) {
      if (holder.principal.kind === "local") return ignore;
      const credentials = findCredentials(holder, session).map(toGrantCredential);
      const [first] = credentials;
      if (first === undefined) throw unauthorized(false);
      const account = accountOf(first.principal);
      const limit = first.principal.limits.maxStreams ?? maxStreams;
      const count = counts.get(account) ?? 0;
      if (count >= limit)
        throw new LoomError(
          "too_many_streams",
          `Stream limit reached: ${limit} streams and sockets are open; close one first`,
          { limit },
        );
      counts.set(account, count + 1);
      const grant: AccessGrant = {
        credentials,
        onEnd,
        sessionGrants: session === undefined ? undefined : findSessionGrants(holder, session),
      };
      grant.sessionGrants?.grants.add(grant);
      grants.add(grant);
      timer ??= setInterval(() => void sweep(), intervalMs).unref();
      return () => release(grant, account);
    },

    close() {
      clearInterval(timer);
      timer = undefined;
      grants.clear();
      sessions.clear();
      counts.clear();
    },
  };
}

/** An anonymous caller depends on its share links: those of the session, if there is one. */
function findCredentials({ principal, shares }: Identity, session: string | undefined): readonly Principal[] {
  if (principal.kind !== "anonymous") return [principal];
  return session === undefined ? shares : shares.filter((share) => share.session?.id === session);
}

async function isAnyValid(credentials: readonly GrantCredential[], isStillValid: ValidityCheck): Promise<boolean> {
  for (const credential of credentials) if (await isStillValid(credential)) return true;
  return false;
}

function describeEnd({ credentials: [first] }: AccessGrant): LoomError {
  return first?.principal.login?.check() ?? accessEnded();
}

/** The same token can be valid in one browser and signed out in another, and so can a user of another login. */
function toGrantCredential(principal: Principal): GrantCredential {
  const { id, cookie = "", expiresAt = "", login } = principal;
  return { key: `${id} ${cookie} ${expiresAt} ${login?.key ?? ""}`, principal };
}

function isExpired({ expiresAt }: Principal, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now;
}
