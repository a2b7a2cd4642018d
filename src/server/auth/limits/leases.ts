/**
 * Who has something live, a stream or a socket, and whether they still may. Whoever is revoked, runs out or loses the
 * session is told once, within two sweeps; what is live then ends.
 *
 * Invariants:
 * - A sweep asks once for each credential and each session that is read with it, however many streams there are.
 * - Nothing runs while nothing is watched, and nothing at all is done for a record that is sent.
 * - Where it cannot be found out, it ends: not at the first failure, but before five seconds are over.
 */
import { LoomError } from "../../../protocol/index.ts";
import type { Caller } from "../../guard/authorize.ts";
import { accountOf, type Principal, USUAL_LIMITS } from "../principal.ts";

/** What is looked at of whoever asks. */
export type Holder = Pick<Caller, "principal" | "shares">;

export interface LeasesOptions<H extends Holder = Caller> {
  /** Whether what once was found would be found now. */
  readonly isGood: (principal: Principal) => boolean;
  /** Whether they may read this session now. True for one that is gone: whoever reads it finds out on their own. */
  readonly mayRead: (holder: H, session: string) => Promise<boolean>;
  /** Streams and sockets of one credential that names no limit; the usual when absent. Code `too_many_streams`. */
  readonly maxStreams?: number | undefined;
  /** Between two sweeps, in milliseconds; 1,000 when absent. */
  readonly everyMs?: number | undefined;
  readonly now?: (() => number) | undefined;
  /** Told of what could not be looked at. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

export interface Leases<H extends Holder = Caller> {
  /** Throws `unauthorized` for somebody who has shown nothing, and `too_many_streams`. What it gives ends the watch. */
  watch(holder: H, session: string | undefined, onEnd: (why: LoomError) => void): () => void;
  /** Watched now. */
  readonly size: number;
  close(): void;
}

interface Lease {
  /** Credentials by which it stands: it falls when none of them does. */
  readonly stands: readonly Stand[];
  readonly onEnd: (why: LoomError) => void;
  readonly reading: Reading<Holder> | undefined;
}

interface Stand {
  readonly key: string;
  readonly principal: Principal;
}

/** A session that is read with the same credentials, by however many streams. */
interface Reading<H extends Holder> {
  readonly key: string;
  readonly holder: H;
  readonly session: string;
  readonly leases: Set<Lease>;
}

const EVERY_MS = 1000;
/** Sessions are looked at for so long in one sweep; the others come first in the next. */
const LOOK_MS = 50;
/** Sweeps in a row that may fail. */
const MAX_BLIND = 3;

const ignore = (): void => undefined;

export function createLeases<H extends Holder = Caller>(options: LeasesOptions<H>): Leases<H> {
  const {
    isGood,
    mayRead,
    maxStreams = USUAL_LIMITS.maxStreams,
    everyMs = EVERY_MS,
    now = Date.now,
    onError = ignore,
  } = options;
  const leases = new Set<Lease>();
  /** The one that was looked at longest ago first. */
  const readings = new Map<string, Reading<H>>();
  /** By the account of the credential. */
  const counts = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  let isLooking = false;
  let blind = 0;

  function release(lease: Lease, counted: string): void {
    if (!leases.delete(lease)) return;
    const left = (counts.get(counted) ?? 1) - 1;
    if (left === 0) counts.delete(counted);
    else counts.set(counted, left);
    const { reading } = lease;
    reading?.leases.delete(lease);
    if (reading?.leases.size === 0 && readings.get(reading.key) === reading) readings.delete(reading.key);
    if (leases.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  function end(lease: Lease): void {
    const [first] = lease.stands as readonly [Stand, ...Stand[]];
    release(lease, accountOf(first.principal));
    try {
      lease.onEnd(new LoomError("unauthorized", "leave to read this has ended: sign in anew, or ask with a token"));
    } catch (error) {
      onError(error);
    }
  }

  /** Asked once for each credential in a sweep. */
  function createJudge(): (stand: Stand) => boolean {
    const known = new Map<string, boolean>();
    return ({ key, principal }) => {
      let verdict = known.get(key);
      if (verdict === undefined) known.set(key, (verdict = isOver(principal, now()) ? false : isGood(principal)));
      return verdict;
    };
  }

  function sweep(): void {
    const judge = createJudge();
    try {
      for (const lease of leases) if (!lease.stands.some(judge)) end(lease);
      blind = 0;
    } catch (error) {
      onError(error);
      if (++blind >= MAX_BLIND) for (const lease of leases) end(lease);
      return;
    }
    if (!isLooking && readings.size > 0) void look(judge);
  }

  async function look(judge: (stand: Stand) => boolean): Promise<void> {
    isLooking = true;
    const until = performance.now() + LOOK_MS;
    // Each of them once: those that were looked at come last.
    let left = readings.size;
    for (const reading of readings.values()) {
      if (left-- === 0 || performance.now() >= until) break;
      readings.delete(reading.key);
      readings.set(reading.key, reading);
      if (!(await isTheirs(reading, judge))) for (const lease of reading.leases) end(lease);
    }
    isLooking = false;
  }

  async function isTheirs({ holder, session }: Reading<H>, judge: (stand: Stand) => boolean): Promise<boolean> {
    try {
      const shares = holder.shares.filter((share) => judge(toStand(share)));
      return await mayRead({ ...holder, shares }, session);
    } catch (error) {
      // Whoever reads is bound to the session as it was, whoever has its name by now.
      onError(error);
      return true;
    }
  }

  function readingOf(holder: H, session: string): Reading<H> {
    const key = JSON.stringify([session, ...[holder.principal, ...holder.shares].map((one) => toStand(one).key)]);
    const known = readings.get(key);
    if (known !== undefined) return known;
    const reading: Reading<H> = { key, holder, session, leases: new Set() };
    readings.set(key, reading);
    return reading;
  }

  return {
    get size() {
      return leases.size;
    },

    watch(holder, session, onEnd) {
      if (holder.principal.kind === "local") return ignore;
      const stands = findStands(holder, session).map(toStand);
      const [first] = stands;
      if (first === undefined) throw new LoomError("unauthorized", "say who you are: with a token, or by signing in");
      const account = accountOf(first.principal);
      const limit = first.principal.limits.maxStreams ?? maxStreams;
      const count = counts.get(account) ?? 0;
      if (count >= limit)
        throw new LoomError("too_many_streams", `${limit} streams and sockets of yours are open already`, { limit });
      counts.set(account, count + 1);
      const lease: Lease = { stands, onEnd, reading: session === undefined ? undefined : readingOf(holder, session) };
      lease.reading?.leases.add(lease);
      leases.add(lease);
      timer ??= setInterval(sweep, everyMs).unref();
      return () => release(lease, account);
    },

    close() {
      clearInterval(timer);
      timer = undefined;
      leases.clear();
      readings.clear();
      counts.clear();
    },
  };
}

/** Somebody without a name stands by the links that were opened: those of the session, where there is one. */
function findStands({ principal, shares }: Holder, session: string | undefined): readonly Principal[] {
  if (principal.kind !== "nobody") return [principal];
  return session === undefined ? shares : shares.filter((share) => share.session?.id === session);
}

/** One token may be good in one browser, and signed out in another. */
function toStand(principal: Principal): Stand {
  const { id, cookie = "", expiresAt = "" } = principal;
  return { key: `${id} ${cookie} ${expiresAt}`, principal };
}

function isOver({ expiresAt }: Principal, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now;
}
