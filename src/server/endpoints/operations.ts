/** All operations of the server, in the order of the OpenAPI document, and the operation that serves the document. */
import { describeApi } from "../api/describe-api.ts";
import { type AnyOperation, defineOperation } from "../api/operation.ts";
import type { ServerCore } from "../api/server-core.ts";
import { listActiveRuns } from "./active-runs.ts";
import { AGENT_OPERATIONS } from "./agents.ts";
import { AG_UI_OPERATIONS } from "./ag-ui/ag-ui-operations.ts";
import { AI_SDK_OPERATIONS } from "./ai-sdk/chats.ts";
import { AUTH_OPERATIONS } from "./auth.ts";
import { getBlob, listBlobs, putBlob } from "./blobs.ts";
import { CHAT_OPERATIONS } from "./chat.ts";
import { CHECKPOINT_OPERATIONS } from "./checkpoints.ts";
import { COMMAND_OPERATIONS } from "./commands.ts";
import { EVENT_OPERATIONS } from "./events.ts";
import { checkHealth, checkReadiness, getVersion } from "./health.ts";
import { getImage } from "./images.ts";
import { ingestRun } from "./ingest.ts";
import { KNOWLEDGE_OPERATIONS } from "./knowledge.ts";
import { getMetrics } from "./metrics.ts";
import { MODEL_CALL_OPERATIONS } from "./model-calls.ts";
import { OPENAI_CHAT_OPERATIONS } from "./openai/chat-completions.ts";
import { OPENAI_CONVERSATION_OPERATIONS } from "./openai/conversations.ts";
import { OPENAI_MODEL_OPERATIONS } from "./openai/models.ts";
import { OPENAI_RESPONSE_OPERATIONS } from "./openai/responses.ts";
import { eraseOwnerOperation } from "./owners.ts";
import { RUN_OPERATIONS } from "./runs.ts";
import { SESSION_OPERATIONS } from "./sessions.ts";
import { SHARE_OPERATIONS } from "./shares.ts";

/** The document is public, so it is generated once per server. */
const documents = new WeakMap<ServerCore, string>();

function describeServer(core: ServerCore): string {
  const text = documents.get(core) ?? JSON.stringify(describeApi(OPERATIONS, core));
  documents.set(core, text);
  return text;
}

const getOpenApi = defineOperation({
  id: "getOpenApi",
  method: "GET",
  path: "/openapi.json",
  tag: "server",
  summary: "Get this document",
  action: "public",
  responses: { 200: { description: "OpenAPI 3.1", mediaTypes: ["application/json"] } },
  handle: (core) => new Response(describeServer(core), { headers: { "content-type": "application/json" } }),
});

export const OPERATIONS: readonly AnyOperation[] = [
  ...SESSION_OPERATIONS,
  ...RUN_OPERATIONS,
  listActiveRuns,
  ...EVENT_OPERATIONS,
  ...COMMAND_OPERATIONS,
  ...CHECKPOINT_OPERATIONS,
  ...MODEL_CALL_OPERATIONS,
  ...AGENT_OPERATIONS,
  ...CHAT_OPERATIONS,
  ...AI_SDK_OPERATIONS,
  ...AG_UI_OPERATIONS,
  ...OPENAI_MODEL_OPERATIONS,
  ...OPENAI_CHAT_OPERATIONS,
  ...OPENAI_RESPONSE_OPERATIONS,
  ...OPENAI_CONVERSATION_OPERATIONS,
  putBlob,
  listBlobs,
  getBlob,
  getImage,
  ...KNOWLEDGE_OPERATIONS,
  ingestRun,
  ...SHARE_OPERATIONS,
  ...AUTH_OPERATIONS,
  eraseOwnerOperation,
  checkHealth,
  checkReadiness,
  getMetrics,
  getVersion,
  getOpenApi,
];
