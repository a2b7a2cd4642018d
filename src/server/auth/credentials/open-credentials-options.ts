/** How many credentials are kept, and how long they are waited for. */
export interface CredentialsOptions {
  /** How long to wait for another process that writes; nothing else is done meanwhile. 2 seconds when absent. */
  readonly busyTimeoutMs?: number | undefined;
  readonly limits?: Partial<CredentialLimits> | undefined;
  readonly now?: (() => number) | undefined;
}

/** Where it is not said what then: code `too_many_open`. */
export interface CredentialLimits {
  /** The oldest that is revoked or over is forgotten first. */
  readonly maxTokens: number;
  readonly maxSharesOfSession: number;
  /** Beyond it the oldest link is over. */
  readonly maxSharesOfOwner: number;
  /** Beyond it the oldest cookie is over. */
  readonly maxCookies: number;
  /** Beyond it the oldest of the same principal is over. */
  readonly maxCookiesOfPrincipal: number;
  readonly maxTickets: number;
  readonly maxTicketsOfPrincipal: number;
  /** How long it is kept what was used up. */
  readonly spentDays: number;
}

export const CREDENTIAL_LIMITS: CredentialLimits = {
  maxTokens: 10_000,
  maxSharesOfSession: 1000,
  maxSharesOfOwner: 10_000,
  maxCookies: 10_000,
  maxCookiesOfPrincipal: 100,
  maxTickets: 10_000,
  maxTicketsOfPrincipal: 1000,
  spentDays: 32,
};
