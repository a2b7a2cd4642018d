/** Options and limits of the credential store. */
export interface CredentialsOptions {
  /**
   * How long an operation waits for another process that has locked the file, in milliseconds. Other operations go on
   * meanwhile. Opening the file blocks the process for at most this time. Default: 2,000.
   */
  readonly busyTimeoutMs?: number | undefined;
  /** Default: `CREDENTIAL_LIMITS`. */
  readonly limits?: Partial<CredentialLimits> | undefined;
  /** Clock in milliseconds since 1970. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/** When a limit is reached, creating another fails with `too_many_open` unless the field says otherwise. */
export interface CredentialLimits {
  /** The oldest revoked or expired token is deleted first. */
  readonly maxTokens: number;
  readonly maxSharesOfSession: number;
  /** The oldest link of the owner is deleted first. */
  readonly maxSharesOfOwner: number;
  /** The oldest cookie is deleted first. */
  readonly maxCookies: number;
  /** The principal's oldest cookie is deleted first. */
  readonly maxCookiesOfPrincipal: number;
  readonly maxTickets: number;
  readonly maxTicketsOfPrincipal: number;
  /** Days for which token usage is kept. */
  readonly spentDays: number;
}

export const CREDENTIAL_LIMITS: CredentialLimits = {
  maxTokens: 10_000,
  maxSharesOfSession: 100,
  maxSharesOfOwner: 10_000,
  maxCookies: 10_000,
  maxCookiesOfPrincipal: 100,
  maxTickets: 10_000,
  maxTicketsOfPrincipal: 1000,
  spentDays: 32,
};
