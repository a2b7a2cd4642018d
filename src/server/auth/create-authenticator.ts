/**
 * Finds the principal of a token, share link, ticket or JWT. Every invalid credential gets the same error, so a client
 * cannot learn what was wrong with it.
 */
import { isLoomError } from "../../protocol/index.ts";
import type { RequestInfo } from "../guard/read-request-info.ts";
import type { JwtOptions } from "./auth-options.ts";
import type { Credentials } from "./credentials/credentials.ts";
import type { Failures } from "./limits/failures.ts";
import type { Principal } from "./principal.ts";
import { unauthorized } from "./unauthorized.ts";
import { createJwtVerifier } from "./jwt/verify-jwt.ts";

export interface AuthenticatorOptions {
  readonly credentials: Credentials;
  readonly failures: Failures;
  readonly jwt?: JwtOptions | undefined;
  readonly now: () => number;
  /** Called with every invalid credential. */
  readonly onRefused: (text: string, request: RequestInfo) => void;
}

export interface Authenticator {
  /** Accepts a token, a share link or a JWT, never a cookie or a ticket. Throws `unauthorized` and `rate_limited`. */
  authenticate(text: string, request: RequestInfo): Promise<Principal>;
  /** Uses up the ticket. Throws `unauthorized` and `rate_limited`. */
  redeemTicket(text: string, request: RequestInfo): Promise<Principal>;
}

/** Loom secrets that are accepted as bearer tokens. */
const BEARER_SECRET = /^loom_(tok|shr)_/;
const LOOM_SECRET = /^loom_/;

export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { credentials, failures, jwt, now, onRefused } = options;
  const verify = jwt === undefined ? undefined : createJwtVerifier(jwt);

  async function fail(text: string, request: RequestInfo): Promise<never> {
    onRefused(text, request);
    await failures.add(request.address);
    throw unauthorized(true);
  }

  async function findJwt(text: string): Promise<Principal | undefined> {
    if (verify === undefined || LOOM_SECRET.test(text)) return undefined;
    try {
      return await verify(text);
    } catch (error) {
      // Unavailable issuer keys do not make the token invalid; report them.
      if (isLoomError(error, "unauthorized")) return undefined;
      throw error;
    }
  }

  return {
    async authenticate(text, request) {
      // Valid credentials pass even when their address is blocked: many users can share one proxy address.
      const known = await (BEARER_SECRET.test(text) ? credentials.find(text, now()) : findJwt(text));
      return known ?? (await fail(text, request));
    },
    async redeemTicket(text, request) {
      const used = await credentials.useTicket(text, now());
      if (used === undefined) return fail(text, request);
      const { principal, session } = used;
      return session === undefined ? principal : { ...principal, only: session };
    },
  };
}
