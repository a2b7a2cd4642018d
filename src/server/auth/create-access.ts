/**
 * A server that asks everybody who they are: the parts of it put together. Credentials are looked at once, at the
 * entrance; what they allow is looked at for every action.
 */
import { LoomError } from "../../protocol/index.ts";
import type { Log } from "../../log/index.ts";
import type { RequestInfo } from "../guard/authorize.ts";
import { assertAgent } from "../commands/command-author.ts";
import type { Access, Identity } from "./access.ts";
import type { AuthOptions } from "./auth-options.ts";
import { readCookies } from "./cookies.ts";
import { createAuthorize, mayRead } from "./create-authorize.ts";
import { createRecognizer } from "./create-recognizer.ts";
import type { Credentials } from "./credentials/credentials.ts";
import { createFailures } from "./limits/failures.ts";
import { createLeases } from "./limits/leases.ts";
import { createLiveRuns } from "./limits/live-runs.ts";
import { openCredentials } from "./credentials/open-credentials.ts";
import { NOBODY, type Principal } from "./principal.ts";
import { createRates } from "./limits/rates.ts";
import { renewCaller } from "./renew-caller.ts";
import { createSpend } from "./limits/spend.ts";

export interface AccessParts {
  readonly log: Log;
  readonly now?: (() => number) | undefined;
  /** Told of what went wrong that is nobody's fault who asks. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

const COOKIE_MS = 7 * 24 * 60 * 60 * 1000;
const TICKET_MS = 30_000;
/** Where a ticket counts: where a browser can bring nothing else. */
const TICKET_METHODS: ReadonlySet<string> = new Set(["GET", "UPGRADE"]);

export function createAccess(options: AuthOptions, { log, now = Date.now, onError }: AccessParts): Access {
  const { jwt, limits = {}, cookieMs = COOKIE_MS, ticketMs = TICKET_MS, maxFailures } = options;
  // Cookies and tickets of those who come with a JWT last as long as the process, where nothing is kept.
  const own = options.credentials === undefined ? openCredentials(":memory:") : undefined;
  const credentials = (options.credentials ?? own) as Credentials;
  const failures = createFailures({ maxFailures, now });
  const recognizer = createRecognizer({ credentials, failures, jwt, now });
  const rates = createRates({ limits, now });
  const spend = createSpend({ credentials, log, tokensPerDay: limits.tokensPerDay, now, onError });
  const liveRuns = createLiveRuns({ log, maxRuns: limits.maxRuns, now });
  const isGood = (principal: Principal): boolean => credentials.isGood(principal, now());
  const authorize = createAuthorize(log);
  const leases = createLeases({
    isGood,
    mayRead: (holder, session) => mayRead(log, holder, session),
    maxStreams: limits.maxStreams,
    now,
    onError,
  });

  async function find(stranger: RequestInfo): Promise<Identity> {
    const shown = readBearer(stranger);
    if (shown !== undefined) return { principal: await recognizer.recognize(shown, stranger), shares: [] };
    const ticket = TICKET_METHODS.has(stranger.method) ? stranger.url.searchParams.get("ticket") : null;
    if (ticket !== null) return { principal: recognizer.takeTicket(ticket, stranger), shares: [] };
    const { session, shares } = readCookies(stranger);
    const at = now();
    const principal = session === undefined ? undefined : credentials.find(session, at);
    return { principal: principal ?? NOBODY, shares: shares.flatMap((secret) => toLink(credentials, secret, at)) };
  }

  /** Of one who has nothing but links, for one of them that has not been used too much. */
  function countRequest({ principal, shares }: Identity): void {
    if (principal.kind !== "nobody") return rates.takeRequest(principal);
    for (const [at, share] of shares.entries())
      try {
        return rates.takeRequest(share);
      } catch (error) {
        if (at === shares.length - 1) throw error;
      }
  }

  return {
    isOpen: false,
    desk: {
      credentials,
      cookieMs,
      ticketMs,
      async recognize(text, stranger) {
        const principal = await recognizer.recognize(text, stranger);
        rates.takeRequest(principal);
        return principal;
      },
    },
    async identify(stranger) {
      const identity = await find(stranger);
      countRequest(identity);
      return identity;
    },
    authorize: (request) => authorize({ ...request, caller: renewCaller(request.caller, isGood) }),
    watch: (caller, session, onEnd) => leases.watch(caller, session, onEnd),
    countRequest,
    async admitRun({ principal }, { agent, ...run }) {
      assertAgent(principal, agent);
      spend.admit(principal);
      rates.takeRun(principal);
      await liveRuns.admit(principal, run);
    },
    admitTurn({ actor }) {
      if (actor === undefined || credentials.isIssued(actor)) return;
      throw new LoomError("unauthorized", "the token that asked for this run was revoked before its turn came");
    },
    observers: [spend.observer],
    close() {
      leases.close();
      own?.close();
    },
  };
}

/** Other schemes are somebody else's, of a proxy before us say. */
function readBearer({ headers }: RequestInfo): string | undefined {
  const [isBearer, shown = ""] = /^bearer(?:\s+(.*))?$/i.exec(headers.get("authorization")?.trim() ?? "") ?? [];
  return isBearer === undefined ? undefined : shown;
}

function toLink(credentials: Credentials, secret: string, at: number): readonly Principal[] {
  const link = credentials.find(secret, at);
  return link?.kind === "share" ? [link] : [];
}
