/**
 * Types of the authorization check. Every endpoint calls it before it acts, and again for every session a request
 * names.
 */
import type { RequestInfo } from "../guard/read-request-info.ts";
import type { Principal } from "./principal.ts";
import type { Action } from "./scopes.ts";

/** A request with its identified principal. */
export interface Caller extends RequestInfo {
  readonly principal: Principal;
  /** Share links opened in the same browser; each allows reading its session. */
  readonly shares: readonly Principal[];
}

/** The action to authorize. */
export interface AuthorizeRequest {
  readonly caller: Caller;
  readonly action: Action;
  /** Id of the session the action is about, if it is about one. */
  readonly session?: string | undefined;
}

/** Returns if the action is allowed; throws `forbidden`, `unauthorized` or `unknown_session` if not. */
export type Authorize = (request: AuthorizeRequest) => Promise<void> | void;

export const allowAll: Authorize = () => undefined;
