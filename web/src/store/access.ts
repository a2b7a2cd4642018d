/** Access state: who uses the page and what they may do. The UI hides what is not allowed; the server enforces it. */
import type { Scope } from "loom-agent/server";
import type { Auth } from "../../../src/server/api/shapes.generated.ts";
import type { ApiFailure } from "../api/api-error.ts";

/**
 * - `checking`: not known yet.
 * - `open`: authentication is off.
 * - `signed-out`: the user must sign in.
 * - `signed-in`: the user is signed in.
 * - `shared`: a share link gives access to one session.
 * - `invalid-link`: the share link is invalid, expired or revoked.
 * - `links-only`: authentication is off, and this machine can only open share links.
 */
export type AccessPhase = "checking" | "open" | "signed-out" | "signed-in" | "shared" | "invalid-link" | "links-only";

export interface AccessState {
  readonly phase: AccessPhase;
  /** Name and owner of the current or last token. */
  readonly name: string | undefined;
  readonly owner: string | undefined;
  readonly scopes: readonly string[];
  /** End of the sign-in, in milliseconds since 1970. */
  readonly expiresAt: number | undefined;
  /** Session of the share link. */
  readonly session: string | undefined;
  /** Why the user was signed out: the sign-in expired, or it was revoked or ended elsewhere. */
  readonly reason: "expired" | "ended" | undefined;
  /** A sign-in request is pending. */
  readonly isBusy: boolean;
  /** Failure of the last sign-in or access check. */
  readonly failure: ApiFailure | undefined;
}

export type AccessAction =
  /** `shared`: session in the URL of a share link. */
  | { readonly type: "access/loaded"; readonly auth: Auth; readonly shared: string | undefined; readonly now: number }
  | { readonly type: "access/submitted" }
  | { readonly type: "access/failed"; readonly failure: ApiFailure }
  | { readonly type: "access/link-invalid" };

export const UNKNOWN_ACCESS: AccessState = {
  phase: "checking",
  name: undefined,
  owner: undefined,
  scopes: [],
  expiresAt: undefined,
  session: undefined,
  reason: undefined,
  isBusy: false,
  failure: undefined,
};

export function reduceAccess(state: AccessState, action: AccessAction): AccessState {
  switch (action.type) {
    case "access/loaded":
      return applyAuth(state, action);
    case "access/submitted":
      return { ...state, isBusy: true, failure: undefined };
    case "access/failed":
      return { ...state, isBusy: false, failure: action.failure };
    case "access/link-invalid":
      return { ...UNKNOWN_ACCESS, phase: "invalid-link" };
    // Actions of other slices.
    default:
      return state;
  }
}

function applyAuth(
  state: AccessState,
  { auth, shared, now }: Extract<AccessAction, { readonly type: "access/loaded" }>,
): AccessState {
  const { mode, signed_in, name, owner, scopes, shared_session_ids, expires_at: expiresAt } = auth;
  if (shared !== undefined) {
    const phase = shared_session_ids.includes(shared) ? "shared" : "invalid-link";
    return state.phase === phase && state.session === shared ? state : { ...UNKNOWN_ACCESS, phase, session: shared };
  }
  if (mode !== "required") {
    const phase = mode === "open" ? "open" : "links-only";
    return state.phase === phase ? state : { ...UNKNOWN_ACCESS, phase };
  }
  if (signed_in) {
    const isSame =
      state.phase === "signed-in" && state.owner === owner && state.name === name && state.expiresAt === expiresAt;
    // Keep the same object, so that a repeated check renders nothing.
    if (isSame && state.scopes.join() === scopes.join()) return state;
    return { ...UNKNOWN_ACCESS, phase: "signed-in", name, owner, scopes, expiresAt };
  }
  if (state.phase === "signed-out") return state;
  const isOver = state.expiresAt !== undefined && state.expiresAt <= now;
  const reason = state.phase !== "signed-in" ? undefined : isOver ? "expired" : "ended";
  return { ...UNKNOWN_ACCESS, phase: "signed-out", name: state.name, owner: state.owner, reason };
}

/** Whether the page may be shown. */
export function hasAccess({ phase }: AccessState): boolean {
  return phase === "open" || phase === "signed-in" || phase === "shared";
}

export function may({ phase, scopes }: AccessState, scope: Scope): boolean {
  if (phase === "open") return true;
  return phase === "signed-in" && (scopes.includes(scope) || scopes.includes("admin"));
}
