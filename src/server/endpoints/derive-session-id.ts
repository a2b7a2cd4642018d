/**
 * The id of a session that is asked for without one. It follows from the key of the request, so that a retry finds the
 * session it made, and from who asks, so that the same key of somebody else is another session. Where nobody is asked who
 * they are, whoever wants nobody else to find it chooses a key that nobody can guess.
 */
import { createHash } from "node:crypto";
import { LOCAL_OWNER } from "../../log/index.ts";

export function deriveSessionId(key: string, owner: string): string {
  // Neither an owner nor a key has this sign in it: no key is taken for that of another.
  const named = owner === LOCAL_OWNER ? key : `${owner}\0${key}`;
  return `sess_${createHash("sha256").update(named).digest("base64url").slice(0, 22)}`;
}
