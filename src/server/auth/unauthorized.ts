/** The `unauthorized` errors. They do not say what was wrong with a credential. */
import { LoomError } from "../../protocol/index.ts";

export function unauthorized(wasPresented: boolean): LoomError {
  return new LoomError(
    "unauthorized",
    wasPresented
      ? "Invalid credential: it is unknown, revoked, expired, already used, or not accepted here"
      : "Authentication required: send `Authorization: Bearer` with a token, or sign in",
  );
}

/** The end of a connection whose credential or session is no longer valid. */
export function accessEnded(): LoomError {
  return new LoomError(
    "unauthorized",
    "Access has ended: the credential was revoked or expired, or the session is no longer available. Sign in again or use another token.",
  );
}
