/**
 * The id of a session that is asked for without one. It follows from the key of the request, so that a retry finds the
 * session it made; whoever wants nobody else to find it chooses a key that nobody can guess.
 */
import { createHash } from "node:crypto";

export function deriveSessionId(key: string): string {
  return `sess_${createHash("sha256").update(key).digest("base64url").slice(0, 22)}`;
}
