/** How endpoints use the knowledge base. Clients receive the error code of a failing store, never the path of its file. */
import { type ErrorCode, isLoomError, LoomError } from "../../protocol/index.ts";
import type { ServedKnowledge, ServerCore } from "../api/server-core.ts";

/**
 * Calls `work` with the knowledge base of the server and hides what store errors say about the machine. Throws
 * `not_found` if the server has no knowledge base.
 */
export async function withKnowledge<T>(
  { knowledge, report }: Pick<ServerCore, "knowledge" | "report">,
  work: (base: ServedKnowledge) => Promise<T>,
): Promise<T> {
  if (knowledge === undefined) throw new LoomError("not_found", "This server has no knowledge base");
  try {
    return await work(knowledge);
  } catch (error) {
    if (!isLoomError(error)) throw error;
    const about = STORE_MESSAGES[error.code];
    if (about === undefined) throw error;
    const details = { error_id: report(error) };
    throw new LoomError(error.code, `The knowledge base ${about}`, details, { cause: error });
  }
}

const STORE_MESSAGES: { readonly [code in ErrorCode]?: string } = {
  store_failed: "cannot be read or written",
  store_full: "cannot be written: no space left",
  store_busy: "is locked by another process; try again in a moment",
  store_unavailable: "is not available at the moment; try again",
  store_timeout: "took too long; try again",
  store_read_only: "is read-only",
  store_corrupt: "is damaged",
  store_newer: "was created by a newer version of Loom",
  store_older: "was created by an older version of Loom",
  store_closed: "is closed",
};
