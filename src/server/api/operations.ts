/** All operations of the server, in the order of the OpenAPI document. */
import { AGENT_OPERATIONS } from "../endpoints/agents.ts";
import { AUTH_OPERATIONS } from "../endpoints/auth.ts";
import { getBlob, listBlobs, putBlob } from "../endpoints/blobs.ts";
import { CHAT_OPERATIONS } from "../endpoints/chat.ts";
import { CHECKPOINT_OPERATIONS } from "../endpoints/checkpoints.ts";
import { COMMAND_OPERATIONS } from "../endpoints/commands.ts";
import { EVENT_OPERATIONS } from "../endpoints/events.ts";
import { checkHealth, checkReadiness } from "../endpoints/health.ts";
import { getImage } from "../endpoints/images.ts";
import { ingestRun } from "../endpoints/ingest.ts";
import { KNOWLEDGE_OPERATIONS } from "../endpoints/knowledge.ts";
import { getMetrics } from "../endpoints/metrics.ts";
import { createOpenApiEndpoint } from "../endpoints/openapi.ts";
import { RUN_OPERATIONS } from "../endpoints/runs.ts";
import { SESSION_OPERATIONS } from "../endpoints/sessions.ts";
import { SHARE_OPERATIONS } from "../endpoints/shares.ts";
import { getVersion } from "../endpoints/version.ts";
import type { AnyOperation } from "./operation.ts";

export const OPERATIONS: readonly AnyOperation[] = [
  ...SESSION_OPERATIONS,
  ...RUN_OPERATIONS,
  ...EVENT_OPERATIONS,
  ...COMMAND_OPERATIONS,
  ...CHECKPOINT_OPERATIONS,
  ...AGENT_OPERATIONS,
  ...CHAT_OPERATIONS,
  putBlob,
  listBlobs,
  getBlob,
  getImage,
  ...KNOWLEDGE_OPERATIONS,
  ingestRun,
  ...SHARE_OPERATIONS,
  ...AUTH_OPERATIONS,
  checkHealth,
  checkReadiness,
  getMetrics,
  getVersion,
  createOpenApiEndpoint(() => OPERATIONS),
];
