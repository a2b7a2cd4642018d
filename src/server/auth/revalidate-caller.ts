/**
 * Checks a caller's credentials again, for example long after a socket opened. Throws `unauthorized` if the credential
 * is no longer valid, and returns the caller without its revoked share links.
 */
import type { Caller } from "../guard/authorize.ts";
import type { Principal } from "./principal.ts";
import { unauthorized } from "./unauthorized.ts";

export function revalidateCaller(caller: Caller, isValid: (principal: Principal) => boolean): Caller {
  const { principal, shares } = caller;
  if (principal.kind !== "anonymous" && !isValid(principal)) throw unauthorized(true);
  return shares.every(isValid) ? caller : { ...caller, shares: shares.filter(isValid) };
}
