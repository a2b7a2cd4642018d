/**
 * The shapes of request and response bodies of the HTTP API. Their types and validators are generated from these
 * declarations, and so are the schemas of the OpenAPI document. Each part of the API has its own file.
 */
import type { Shape } from "../../protocol/schema.ts";
import { AG_UI_SHAPES } from "./ag-ui-shapes.ts";
import { AUTH_SHAPES } from "./auth-shapes.ts";
import { BLOB_SHAPES } from "./blob-shapes.ts";
import { CHAT_SHAPES } from "./chat-shapes.ts";
import { COMMON_SHAPES, SERVER_SHAPES } from "./common-shapes.ts";
import { INGEST_SHAPES } from "./ingest-shapes.ts";
import { KNOWLEDGE_SHAPES } from "./knowledge-shapes.ts";
import { OPENAI_SHAPES } from "./openai-shapes.ts";
import { RUN_SHAPES } from "./run-shapes.ts";
import { SESSION_SHAPES } from "./session-shapes.ts";

export const API_SHAPES: { readonly [name: string]: Shape } = {
  ...COMMON_SHAPES,
  ...SESSION_SHAPES,
  ...RUN_SHAPES,
  ...CHAT_SHAPES,
  ...AG_UI_SHAPES,
  ...INGEST_SHAPES,
  ...BLOB_SHAPES,
  ...KNOWLEDGE_SHAPES,
  ...AUTH_SHAPES,
  ...SERVER_SHAPES,
  ...OPENAI_SHAPES,
};
