/**
 * The knowledge base of a server, as its doors use it. What is wrong with its file is for whoever runs the server: the
 * caller learns the code, and nothing of where the file is.
 */
import type { KnowledgeBase } from "../context/index.ts";
import { type ErrorCode, isLoomError, LoomError } from "../protocol/index.ts";
import type { ServerCore } from "./server-core.ts";

/** A knowledge base, or what opens one when it is first asked. */
export type ServedKnowledge = Pick<KnowledgeBase, "list" | "stats" | "search" | "addBytes" | "removeDocument">;

/** Throws `not_found` where there is none. */
export async function askKnowledge<T>(
  { knowledge, report }: Pick<ServerCore, "knowledge" | "report">,
  work: (base: ServedKnowledge) => Promise<T>,
): Promise<T> {
  if (knowledge === undefined) throw new LoomError("not_found", "this server has no knowledge base");
  try {
    return await work(knowledge);
  } catch (error) {
    if (!isLoomError(error)) throw error;
    const about = TROUBLE[error.code];
    if (about === undefined) throw error;
    const details = { error_id: report(error) };
    throw new LoomError(error.code, `the knowledge base ${about}`, details, { cause: error });
  }
}

const TROUBLE: { readonly [code in ErrorCode]?: string } = {
  store_failed: "cannot be read or written",
  store_full: "cannot be written: there is no room left",
  store_busy: "is being written by somebody else: try again in a moment",
  store_read_only: "cannot be written",
  store_corrupt: "is damaged",
  store_newer: "was made by a newer version",
  store_older: "was made by an older version",
  store_closed: "is closed",
};
