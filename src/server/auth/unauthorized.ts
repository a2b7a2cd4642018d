/** The `unauthorized` error. It does not say what was wrong with a credential. */
import { LoomError } from "../../protocol/index.ts";

export function unauthorized(wasPresented: boolean): LoomError {
  return new LoomError(
    "unauthorized",
    wasPresented
      ? "Invalid credential: it is unknown, revoked, expired, already used, or not accepted here"
      : "Authentication required: send `Authorization: Bearer` with a token, or sign in",
  );
}
