/** Writes entries of the audit log, as the rest of the server uses it. */
import type { Caller } from "../authorize.ts";
import type { AuditAction, AuditTarget } from "./audit-actions.ts";

/** Who did it, and from where. */
export interface AuditSource {
  /** ID of the credential, never a secret. */
  readonly actor: string;
  readonly name?: string | undefined;
  readonly owner?: string | undefined;
  readonly isAdmin?: boolean | undefined;
  readonly address?: string | undefined;
  readonly requestId?: string | undefined;
}

export interface AuditedAction {
  readonly action: AuditAction;
  readonly source: AuditSource;
  readonly target?: AuditTarget | undefined;
}

/** Adds what is known only during the action. `outcome` replaces `done`. */
export type NoteAudit = (more: {
  readonly source?: AuditSource;
  readonly target?: AuditTarget;
  readonly outcome?: string;
}) => void;

export interface Auditor {
  /**
   * Runs an action and records its outcome. Throws `audit_failed` before the action if entries are required and cannot
   * be written; a failure afterwards is only reported.
   */
  run<T>(about: AuditedAction, act: (note: NoteAudit) => Promise<T> | T): Promise<T>;
  /** Records an action that has happened. */
  record(about: AuditedAction, outcome: string): void;
  /** Writes the counts of repeated refusals and waits for the entries in progress, at most 5 seconds. */
  close(): Promise<void>;
}

/** The auditor of a server without an audit log. */
export const NO_AUDIT: Auditor = {
  run: async (_about, act) => act(() => undefined),
  record: () => undefined,
  close: () => Promise.resolve(),
};

export function sourceOf({ principal, address, requestId }: Pick<Caller, "principal" | "address" | "requestId">) {
  const { kind, id, name, owner, scopes } = principal;
  const isKnown = kind === "token" || kind === "jwt" || kind === "user";
  const source: AuditSource = {
    actor: id,
    ...(isKnown ? { name, owner, isAdmin: scopes.has("admin") } : {}),
    address,
    requestId,
  };
  return source;
}
