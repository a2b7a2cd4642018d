/**
 * Derives the ID of a session that is requested without one. It depends on the idempotency key, so that a retry finds
 * the session it created, and on the owner, so that equal keys of different owners give different sessions. Without
 * authentication a session is only as hard to guess as its key.
 */
import { createHash } from "node:crypto";
import { LOCAL_OWNER } from "../../log/rules.ts";

export function deriveSessionId(key: string, owner: string): string {
  // Neither owners nor keys contain NUL, so different pairs never give the same text.
  const named = owner === LOCAL_OWNER ? key : `${owner}\0${key}`;
  return `sess_${createHash("sha256").update(named).digest("base64url").slice(0, 22)}`;
}
