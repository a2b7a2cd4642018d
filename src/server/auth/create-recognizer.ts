/**
 * Whom a text belongs to that somebody shows: a token, a link, a ticket, or a JWT of somebody else's. What was wrong with
 * one that is no good is told to nobody.
 */
import { isLoomError } from "../../protocol/index.ts";
import type { RequestInfo } from "../guard/authorize.ts";
import type { JwtOptions } from "./auth-options.ts";
import type { Credentials } from "./credentials/credentials.ts";
import type { Failures } from "./limits/failures.ts";
import type { Principal } from "./principal.ts";
import { unauthorized } from "./unauthorized.ts";
import { createJwtVerifier } from "./jwt/verify-jwt.ts";

export interface RecognizerOptions {
  readonly credentials: Credentials;
  readonly failures: Failures;
  readonly jwt?: JwtOptions | undefined;
  readonly now: () => number;
}

export interface Recognizer {
  /** Of a token, a link or a JWT, never of a cookie or a ticket. Throws `unauthorized` and `rate_limited`. */
  recognize(text: string, stranger: Pick<RequestInfo, "address">): Promise<Principal>;
  /** It is used from then on. Throws `unauthorized` and `rate_limited`. */
  takeTicket(text: string, stranger: Pick<RequestInfo, "address">): Principal;
}

/** Of our own that are shown as they are. */
const SHOWN = /^loom_(tok|shr)_/;
const OURS = /^loom_/;

export function createRecognizer({ credentials, failures, jwt, now }: RecognizerOptions): Recognizer {
  const verify = jwt === undefined ? undefined : createJwtVerifier(jwt);

  function fail({ address }: Pick<RequestInfo, "address">): never {
    failures.assertFew(address);
    failures.add(address);
    throw unauthorized(true);
  }

  async function findJwt(text: string): Promise<Principal | undefined> {
    if (verify === undefined || OURS.test(text)) return undefined;
    try {
      return await verify(text);
    } catch (error) {
      // Keys that cannot be had say nothing of it: that is told as it is.
      if (isLoomError(error, "unauthorized")) return undefined;
      throw error;
    }
  }

  return {
    async recognize(text, stranger) {
      // One that is good is let in whatever others at the same address have tried, who may be all behind one proxy.
      const known = SHOWN.test(text) ? credentials.find(text, now()) : await findJwt(text);
      return known ?? fail(stranger);
    },
    takeTicket(text, stranger) {
      const used = credentials.useTicket(text, now());
      if (used === undefined) return fail(stranger);
      const { principal, session } = used;
      return session === undefined ? principal : { ...principal, only: session };
    },
  };
}
