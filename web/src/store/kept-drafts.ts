/** What was written and not sent outlives a reload of its tab: the text alone, of the sessions written in last. */
import { type ComposingState, NOTHING_COMPOSED, reduceComposing } from "./composing.ts";
import type { Keeper } from "./settings.ts";

const DRAFTS_KEY = "loom.drafts";
const MAX_DRAFTS = 20;
/** Of one draft; a longer one is kept as far as this. */
const MAX_CHARACTERS = 50_000;

export function readDrafts(keeper: Keeper | undefined): ComposingState {
  try {
    const kept: unknown = JSON.parse(keeper?.getItem(DRAFTS_KEY) ?? "[]");
    if (!Array.isArray(kept)) return NOTHING_COMPOSED;
    return kept.slice(-MAX_DRAFTS).reduce<ComposingState>(takeDraft, NOTHING_COMPOSED);
  } catch {
    return NOTHING_COMPOSED;
  }
}

function takeDraft(state: ComposingState, entry: unknown): ComposingState {
  const [session, text] = Array.isArray(entry) ? (entry as readonly unknown[]) : [];
  if (typeof session !== "string" || typeof text !== "string") return state;
  return reduceComposing(state, { type: "draft/typed", session, text });
}

export function keepDrafts(keeper: Keeper | undefined, drafts: ComposingState["drafts"]): void {
  const kept = Object.entries(drafts)
    .filter(([, { text }]) => text !== "")
    .slice(-MAX_DRAFTS)
    .map(([session, { text }]) => [session, text.slice(0, MAX_CHARACTERS)]);
  try {
    keeper?.setItem(DRAFTS_KEY, JSON.stringify(kept));
  } catch {
    return;
  }
}
