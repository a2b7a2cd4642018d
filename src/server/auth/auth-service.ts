/** What the authentication endpoints need: verify a credential, and issue cookies, tickets and share links. */
import type { RequestInfo } from "../guard/read-request-info.ts";
import type { Credentials } from "./credentials/credentials.ts";
import type { Principal } from "./principal.ts";

export interface AuthService {
  /** Store of tokens, cookies, tickets and share links. */
  readonly credentials: Credentials;
  /** Lifetime of a browser sign-in and of a ticket, in milliseconds. */
  readonly cookieMs: number;
  readonly ticketMs: number;
  /**
   * Returns the principal of a token, share link or JWT; cookies and tickets are not accepted. Throws `unauthorized`
   * with the same message for every invalid credential, and `rate_limited` when the address sent too many invalid
   * credentials or the principal sent too many requests.
   */
  authenticate(text: string, request: RequestInfo): Promise<Principal>;
}
