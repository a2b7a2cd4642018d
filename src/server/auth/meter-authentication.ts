/** Counts the outcome of an authentication. A meter that fails does not affect the request. */
import { isLoomError } from "../../protocol/index.ts";
import type { AuthenticationOutcome, CredentialKind, ServerMeter } from "../../observe/index.ts";
import { shield } from "../../observe/shield.ts";

export async function meterAuthentication<T>(
  meter: Partial<ServerMeter> | undefined,
  kind: CredentialKind,
  authenticate: () => Promise<T>,
  /** Whether a credential was found to be valid. With an unknown cookie, the request is anonymous. */
  isKnown: (result: T) => boolean,
): Promise<T> {
  const count = (outcome: AuthenticationOutcome): void =>
    shield(
      () => meter?.countAuthentication?.(kind, outcome),
      () => undefined,
    );
  try {
    const result = await authenticate();
    count(isKnown(result) ? "accepted" : kind === "none" ? "anonymous" : "rejected");
    return result;
  } catch (error) {
    count(outcomeOf(error));
    throw error;
  }
}

function outcomeOf(error: unknown): AuthenticationOutcome {
  if (isLoomError(error, "unauthorized")) return "rejected";
  return isLoomError(error, "rate_limited") ? "limited" : "failed";
}
