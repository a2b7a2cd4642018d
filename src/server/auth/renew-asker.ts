/**
 * Whoever asks, as they are now: what they came with may have ended since, where it was shown long before, as on a socket.
 * Throws `unauthorized` where it has; links that were taken back are left out.
 */
import type { Asker } from "../guard/authorize.ts";
import type { Principal } from "./principal.ts";
import { unauthorized } from "./unauthorized.ts";

export function renewAsker(asker: Asker, isGood: (principal: Principal) => boolean): Asker {
  const { principal, shares } = asker;
  if (principal.kind !== "nobody" && !isGood(principal)) throw unauthorized(true);
  return shares.every(isGood) ? asker : { ...asker, shares: shares.filter(isGood) };
}
