/** All operations of the server, in the order of the OpenAPI document, and the operation that serves the document. */
import { describeApi } from "./api/describe-api.ts";
import { type AnyOperation, defineOperation, type TaggedOperation } from "./api/operation.ts";
import type { ServerCore } from "./api/server-core.ts";
import { AG_UI_OPERATIONS } from "./clients/ag-ui/ag-ui-operations.ts";
import { AI_SDK_OPERATIONS } from "./clients/ai-sdk/chat-endpoints.ts";
import { CHAT_OPERATIONS } from "./clients/chat/chat.ts";
import { OPENAI_CHAT_OPERATIONS } from "./clients/openai/chat-completions.ts";
import { OPENAI_CONVERSATION_OPERATIONS } from "./clients/openai/conversations.ts";
import { OPENAI_MODEL_OPERATIONS } from "./clients/openai/models.ts";
import { OPENAI_RESPONSE_OPERATIONS } from "./clients/openai/responses.ts";
import { listActiveRuns } from "./endpoints/active-runs.ts";
import { AGENT_OPERATIONS } from "./endpoints/agents.ts";
import { AUTH_OPERATIONS } from "./endpoints/auth.ts";
import { getBlob, listBlobs, putBlob } from "./endpoints/blobs.ts";
import { CHECKPOINT_OPERATIONS } from "./endpoints/checkpoints.ts";
import { COMMAND_OPERATIONS } from "./endpoints/commands.ts";
import { readEvents } from "./endpoints/events.ts";
import { checkHealth, checkReadiness, getVersion } from "./endpoints/health.ts";
import { getImage } from "./endpoints/images.ts";
import { ingestRun } from "./endpoints/ingest.ts";
import { KNOWLEDGE_OPERATIONS } from "./endpoints/knowledge.ts";
import { getMetrics } from "./endpoints/metrics.ts";
import { MODEL_CALL_OPERATIONS } from "./endpoints/model-calls.ts";
import { eraseOwnerOperation } from "./endpoints/owners.ts";
import { RUN_OPERATIONS } from "./endpoints/runs.ts";
import { SESSION_OPERATIONS } from "./endpoints/sessions.ts";
import { SHARE_OPERATIONS } from "./endpoints/shares.ts";

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
  summary: "Get this document",
  action: "public",
  responses: { 200: { description: "OpenAPI 3.1", mediaTypes: ["application/json"] } },
  handle: (core) => new Response(describeServer(core), { headers: { "content-type": "application/json" } }),
});

/** The operations by their group in the OpenAPI document. */
const GROUPS: readonly (readonly [tag: string, operations: readonly AnyOperation[]])[] = [
  ["sessions", SESSION_OPERATIONS],
  ["runs", [...RUN_OPERATIONS, listActiveRuns]],
  ["events", [readEvents]],
  ["commands", COMMAND_OPERATIONS],
  ["checkpoints", CHECKPOINT_OPERATIONS],
  ["runs", MODEL_CALL_OPERATIONS],
  ["agents", AGENT_OPERATIONS],
  ["chat", [...CHAT_OPERATIONS, ...AI_SDK_OPERATIONS]],
  ["ag-ui", AG_UI_OPERATIONS],
  [
    "openai",
    [
      ...OPENAI_MODEL_OPERATIONS,
      ...OPENAI_CHAT_OPERATIONS,
      ...OPENAI_RESPONSE_OPERATIONS,
      ...OPENAI_CONVERSATION_OPERATIONS,
    ],
  ],
  ["blobs", [putBlob, listBlobs, getBlob, getImage]],
  ["knowledge", KNOWLEDGE_OPERATIONS],
  ["ingest", [ingestRun]],
  ["auth", [...SHARE_OPERATIONS, ...AUTH_OPERATIONS, eraseOwnerOperation]],
  ["server", [checkHealth, checkReadiness, getMetrics, getVersion, getOpenApi]],
];

export const OPERATIONS: readonly TaggedOperation[] = GROUPS.flatMap(([tag, operations]) =>
  operations.map((operation) => ({ ...operation, tag })),
);
