/** All operations of the server, in the order of the OpenAPI document. */
import { AGENT_OPERATIONS } from "../doors/agents.ts";
import { AUTH_OPERATIONS } from "../doors/auth.ts";
import { getBlob, listBlobs, putBlob } from "../doors/blobs.ts";
import { CHAT_OPERATIONS } from "../doors/chat.ts";
import { CHECKPOINT_OPERATIONS } from "../doors/checkpoints.ts";
import { COMMAND_OPERATIONS } from "../doors/commands.ts";
import { EVENT_OPERATIONS } from "../doors/events.ts";
import { checkHealth, checkReadiness } from "../doors/health.ts";
import { getImage } from "../doors/images.ts";
import { ingestRun } from "../doors/ingest.ts";
import { KNOWLEDGE_OPERATIONS } from "../doors/knowledge.ts";
import { getMetrics } from "../doors/metrics.ts";
import { createOpenApiDoor } from "../doors/openapi.ts";
import { RUN_OPERATIONS } from "../doors/runs.ts";
import { SESSION_OPERATIONS } from "../doors/sessions.ts";
import { SHARE_OPERATIONS } from "../doors/shares.ts";
import { getVersion } from "../doors/version.ts";
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
  createOpenApiDoor(() => OPERATIONS),
];
