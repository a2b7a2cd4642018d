/** The knowledge base of a server, which whoever reaches the server can fill. It opens none. */
import { SERVER_LIMITS } from "../../server/server-limits.ts";
import type { Environment } from "../find-store.ts";
import { chooseKnowledgeBase, type KnowledgeChoice } from "../kb/default-knowledge-base.ts";
import { NONE } from "./setting.ts";
import type { Settings } from "./settings.ts";

/** Undefined where there shall be none. It may begin without its file. */
export function chooseServedBase(
  { kb, "max-document": maxDocument }: Pick<Settings, "kb" | "max-document">,
  env?: Environment,
): KnowledgeChoice | undefined {
  if (kb === NONE) return undefined;
  // Less than usual is refused by the doors: the base has its handbook all the same.
  const maxDocumentBytes = Math.max(SERVER_LIMITS.maxDocumentBytes, maxDocument);
  return { ...chooseKnowledgeBase(kb, env), mayBeMissing: true, maxDocumentBytes };
}
