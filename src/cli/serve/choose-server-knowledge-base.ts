/** Chooses the knowledge base of a server. It does not open it. */
import { SERVER_LIMITS } from "../../server/guard/server-limits.ts";
import type { Environment } from "../find-store.ts";
import { chooseKnowledgeBase, type KnowledgeChoice } from "../kb/default-knowledge-base.ts";
import { NONE } from "./setting.ts";
import type { Settings } from "./settings.ts";

/** Returns undefined if the setting is `none`. The file may be missing, since clients can add documents. */
export function chooseServerKnowledgeBase(
  {
    kb,
    store,
    "max-document": maxDocument,
    "search-timeout": searchTimeoutMs,
  }: Pick<Settings, "kb" | "max-document" | "search-timeout" | "store">,
  env?: Environment,
): KnowledgeChoice | undefined {
  if (kb === NONE) return undefined;
  // A smaller limit is enforced by the endpoints; the handbook pages must still fit.
  const maxDocumentBytes = Math.max(SERVER_LIMITS.maxDocumentBytes, maxDocument);
  return { ...chooseKnowledgeBase(kb, env, store), mayBeMissing: true, limits: { maxDocumentBytes, searchTimeoutMs } };
}
