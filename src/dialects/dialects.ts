/** The table of all dialects. */
import { agUi } from "./ag-ui/index.ts";
import { aiSdk } from "./ai-sdk/index.ts";
import type { Dialect, DialectName } from "./dialect.ts";
import { engine } from "./engine/index.ts";
import { exportDialect } from "./export/index.ts";
import { loom } from "./loom/index.ts";
import { lumine } from "./lumine/index.ts";
import { openaiChat } from "./openai-chat/index.ts";
import { openaiResponses } from "./openai-responses/index.ts";
import { streamEvent } from "./stream-event/index.ts";

/** All dialects by name. */
export const DIALECTS: { readonly [N in DialectName]: Dialect } = {
  loom,
  export: exportDialect,
  engine,
  lumine,
  "stream-event": streamEvent,
  "ai-sdk": aiSdk,
  "ag-ui": agUi,
  "openai-responses": openaiResponses,
  "openai-chat": openaiChat,
};
