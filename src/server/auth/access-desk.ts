/**
 * What the doors of authentication need of whoever lets people in: to know a credential that is shown, and to hand out
 * others in its place. It knows no request beyond the address it came from.
 */
import type { RequestInfo } from "../guard/authorize.ts";
import type { Credentials } from "./credentials/credentials.ts";
import type { Principal } from "./principal.ts";

export interface AccessDesk {
  /** Of cookies, tickets and links. */
  readonly credentials: Credentials;
  /** How long a browser stays signed in, and how long a ticket is good. */
  readonly cookieMs: number;
  readonly ticketMs: number;
  /**
   * Who shows this text: a token, a link, or a JWT; never a cookie or a ticket. Throws `unauthorized`, in the same words
   * whatever is wrong with it, and `rate_limited` where one address has shown too many that were no good, or this one asks too
   * often.
   */
  recognize(text: string, stranger: RequestInfo): Promise<Principal>;
}
