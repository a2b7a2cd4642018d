/**
 * Who is at the page, and what they may do: everybody where nobody is asked, somebody who signed in, or somebody with a
 * link to one session. What they may not do is not offered; it is the server that does not let them.
 */
import type { Auth, Scope } from "loom-agent/server";
import type { Failure } from "../api/api-error.ts";

/**
 * - `asking`: nobody knows yet.
 * - `open`: nobody is asked who they are.
 * - `out`: whoever is here has to sign in.
 * - `in`: they have.
 * - `shared`: they have a link, and see that one session.
 * - `unlinked`: they had one, or what they have is none.
 */
export type AccessPhase = "asking" | "open" | "out" | "in" | "shared" | "unlinked";

export interface AccessState {
  readonly phase: AccessPhase;
  /** Of who signed in, or was the last to. */
  readonly name: string | undefined;
  readonly owner: string | undefined;
  readonly scopes: readonly string[];
  /** When they will have to sign in again, in milliseconds since 1970. */
  readonly endsAt: number | undefined;
  /** The one a link is for. */
  readonly session: string | undefined;
  /** Why somebody who was in is out: the time was up, or what they came with was taken back. */
  readonly reason: "expired" | "ended" | undefined;
  /** An answer to who they are is on its way. */
  readonly isBusy: boolean;
  /** Why the last try came to nothing. */
  readonly trouble: Failure | undefined;
}

export type AccessAction =
  /** `shared`: of a page that shows one session by a link, which. */
  | { readonly type: "access/told"; readonly auth: Auth; readonly shared: string | undefined; readonly now: number }
  | { readonly type: "access/asked" }
  | { readonly type: "access/failed"; readonly failure: Failure }
  | { readonly type: "access/unlinked" };

export const UNKNOWN_ACCESS: AccessState = {
  phase: "asking",
  name: undefined,
  owner: undefined,
  scopes: [],
  endsAt: undefined,
  session: undefined,
  reason: undefined,
  isBusy: false,
  trouble: undefined,
};

export function reduceAccess(state: AccessState, action: AccessAction): AccessState {
  switch (action.type) {
    case "access/told":
      return takeAuth(state, action);
    case "access/asked":
      return { ...state, isBusy: true, trouble: undefined };
    case "access/failed":
      return { ...state, isBusy: false, trouble: action.failure };
    case "access/unlinked":
      return { ...UNKNOWN_ACCESS, phase: "unlinked" };
    // What concerns others.
    default:
      return state;
  }
}

function takeAuth(
  state: AccessState,
  { auth, shared, now }: Extract<AccessAction, { readonly type: "access/told" }>,
): AccessState {
  const { mode, signed_in, name, owner, scopes, shared_session_ids, expires_at: endsAt } = auth;
  if (mode === "open") return state.phase === "open" ? state : { ...UNKNOWN_ACCESS, phase: "open" };
  if (shared !== undefined) {
    const phase = shared_session_ids.includes(shared) ? "shared" : "unlinked";
    return state.phase === phase && state.session === shared ? state : { ...UNKNOWN_ACCESS, phase, session: shared };
  }
  if (signed_in) {
    const isSame = state.phase === "in" && state.owner === owner && state.name === name && state.endsAt === endsAt;
    // Nobody who asked only to be sure is to see the whole page rendered anew.
    if (isSame && state.scopes.join() === scopes.join()) return state;
    return { ...UNKNOWN_ACCESS, phase: "in", name, owner, scopes, endsAt };
  }
  if (state.phase === "out") return state;
  const isOver = state.endsAt !== undefined && state.endsAt <= now;
  const reason = state.phase !== "in" ? undefined : isOver ? "expired" : "ended";
  return { ...UNKNOWN_ACCESS, phase: "out", name: state.name, owner: state.owner, reason };
}

/** There is something for them to see. */
export function isInside({ phase }: AccessState): boolean {
  return phase === "open" || phase === "in" || phase === "shared";
}

export function may({ phase, scopes }: AccessState, scope: Scope): boolean {
  if (phase === "open") return true;
  return phase === "in" && (scopes.includes(scope) || scopes.includes("admin"));
}

/** Where nobody is asked who they are, everybody sees everything already. */
export function mayShare(access: AccessState): boolean {
  return access.phase === "in" && may(access, "write");
}
