/** All operations of the server, in the order of the OpenAPI document. */
import { AGENT_OPERATIONS } from "./agents.ts";
import { AUTH_OPERATIONS } from "./auth.ts";
import { getBlob, listBlobs, putBlob } from "./blobs.ts";
import { CHAT_OPERATIONS } from "./chat.ts";
import { CHECKPOINT_OPERATIONS } from "./checkpoints.ts";
import { COMMAND_OPERATIONS } from "./commands.ts";
import { EVENT_OPERATIONS } from "./events.ts";
import { checkHealth, checkReadiness } from "./health.ts";
import { getImage } from "./images.ts";
import { ingestRun } from "./ingest.ts";
import { KNOWLEDGE_OPERATIONS } from "./knowledge.ts";
import { getMetrics } from "./metrics.ts";
import { createOpenApiEndpoint } from "./openapi.ts";
import { RUN_OPERATIONS } from "./runs.ts";
import { SESSION_OPERATIONS } from "./sessions.ts";
import { SHARE_OPERATIONS } from "./shares.ts";
import { getVersion } from "./version.ts";
import type { AnyOperation } from "../api/operation.ts";

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
