/** The id of a run that was asked for without one: the same for the same command, so that an answer can name it at once. */
import { createHash } from "node:crypto";

export function deriveRunId(sessionId: string, commandId: string): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([sessionId, commandId]))
    .digest("base64url");
  return `run-${digest.slice(0, 22)}`;
}
