/**
 * Marks the parts of a prompt that stay the same in the next call, so that the provider can cache them: the tools, the
 * system prompt, and the messages before the newest one. Only Anthropic needs marks; other providers cache by themselves.
 */
import type { LanguageModel, ModelRequest } from "./model.ts";

const MARK = { anthropic: { cacheControl: { type: "ephemeral" } } };

/** Adds the mark to a message or tool. */
export type MarkCached = <Item extends object>(item: Item) => Item;

const unchanged: MarkCached = (item) => item;

/** How to mark the items of a list, by index: unchanged except for those that end a stable prefix. */
export function createCacheMarks(
  model: LanguageModel,
  { messages, tools = [], settings }: ModelRequest,
): { readonly message: (index: number) => MarkCached; readonly tool: (index: number) => MarkCached } {
  if (settings?.caching !== true || !/^anthropic(?:\.|$)/.test(model.provider))
    return { message: () => unchanged, tool: () => unchanged };
  const mark: MarkCached = (item) => ({ ...item, providerOptions: MARK });
  const marked = new Set([messages.findLastIndex(({ role }) => role === "system"), messages.length - 2]);
  return {
    message: (index) => (marked.has(index) ? mark : unchanged),
    tool: (index) => (index === tools.length - 1 ? mark : unchanged),
  };
}
