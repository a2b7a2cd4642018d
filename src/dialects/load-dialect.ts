/**
 * Loads one dialect on demand. All of them together are as large as the engine and the agents, and most programs stream in
 * one dialect.
 */
import type { Dialect, DialectName } from "./dialect.ts";

const LOADERS: { readonly [N in DialectName]: () => Promise<Dialect> } = {
  loom: async () => (await import("./loom/index.ts")).loom,
  export: async () => (await import("./export/index.ts")).exportDialect,
  engine: async () => (await import("./engine/index.ts")).engine,
  lumine: async () => (await import("./lumine/index.ts")).lumine,
  "stream-event": async () => (await import("./stream-event/index.ts")).streamEvent,
  "ai-sdk": async () => (await import("./ai-sdk/index.ts")).aiSdk,
  "ag-ui": async () => (await import("./ag-ui/index.ts")).agUi,
  "openai-responses": async () => (await import("./openai-responses/index.ts")).openaiResponses,
  "openai-chat": async () => (await import("./openai-chat/index.ts")).openaiChat,
};

/** The dialect of this name, the same object as in `DIALECTS`. */
export async function loadDialect(name: DialectName): Promise<Dialect> {
  return LOADERS[name]();
}
