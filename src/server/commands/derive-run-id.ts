/**
 * Derives the ID of a run from its command when the client gives none. The same command always has the same run ID, so
 * the response can name the run at once.
 */
import { createHash } from "node:crypto";

export function deriveRunId(sessionId: string, commandId: string): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([sessionId, commandId]))
    .digest("base64url");
  return `run-${digest.slice(0, 22)}`;
}
