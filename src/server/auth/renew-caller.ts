/**
 * Whoever asks, as they are now: what they came with may have ended since, where it was shown long before, as on a socket.
 * Throws `unauthorized` where it has; links that were taken back are left out.
 */
import type { Caller } from "../guard/authorize.ts";
import type { Principal } from "./principal.ts";
import { unauthorized } from "./unauthorized.ts";

export function renewCaller(caller: Caller, isGood: (principal: Principal) => boolean): Caller {
  const { principal, shares } = caller;
  if (principal.kind !== "nobody" && !isGood(principal)) throw unauthorized(true);
  return shares.every(isGood) ? caller : { ...caller, shares: shares.filter(isGood) };
}
