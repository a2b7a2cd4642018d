/**
 * The actions of the audit log, declared once. `docs/operations/audit-log.md` lists the same actions, which a test
 * checks.
 */

/** Each action with the fields of its `target`. */
export const AUDIT_ACTIONS = {
  "server.start": "`authentication`: on or off",
  "server.stop": "",
  "credential.refuse": "`credential`: kind and ID of the credential, or `unknown`",
  "permission.refuse": "`permission`, `session`",
  sign_in: "`session` for a share link",
  sign_out: "",
  "token.create": "`token`: ID, `name`, `owner`, `scopes`",
  "token.revoke": "`token`: name or ID",
  "share.create": "`session`, `share`: ID of the link",
  "share.revoke": "`session`, `share`",
  "approval.answer": "`session`, `run`, `call`, `decision`, `tool`",
  "tool.permit": "`session`, `tool`, `rule`: `allow` or `ask`",
  "session.delete": "`session`, with its blobs",
  "document.delete": "`document`",
  "owner.erase": "`owner`, `sessions`, `blobs`, `tokens`, `shares`: how many were erased",
  "runs.prune": "`runs`, `bytes`",
} as const satisfies { readonly [action: string]: string };

/** What was done, in the audit log. */
export type AuditAction = keyof typeof AUDIT_ACTIONS;

/** The object of an action: IDs and names, never a secret. */
export type AuditTarget = { readonly [name: string]: string | number };

/** One line of the audit log. */
export interface AuditEntry {
  /** Time in ISO 8601, UTC. */
  readonly time: string;
  readonly action: AuditAction;
  /**
   * `done`; `pending` if the outcome was not known in time; otherwise the error code. `started` is written before the
   * action if `auditRequired` is set.
   */
  readonly outcome: string;
  /** ID of the credential: `token:k3x9…`, `jwt:alice`, `user:alice`, `share:p0q2…`, `anonymous`, `local`, `server`, `cli:USER`. */
  readonly actor: string;
  /** Name of the credential. */
  readonly name?: string;
  /** Owner of the credential. */
  readonly owner?: string;
  /** True if the credential has the scope `admin`. */
  readonly admin?: true;
  /** Client address, as reported by trusted proxies. */
  readonly address?: string;
  readonly request_id?: string;
  readonly target?: AuditTarget;
  /** Further refusals of the same kind since `since`, which share this line. */
  readonly count?: number;
  readonly since?: string;
}

/** Receives the entries of the audit log. Throws or rejects if the entry cannot be written. */
export type Audit = (entry: AuditEntry) => Promise<void> | void;
