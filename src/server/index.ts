/**
 * Entry point `loom-agent/server`: the HTTP and WebSocket server as a handler, the same handler with its own Node
 * server, and the parts to build a custom one.
 */
export { createLoomHandler, type CloseHandlerOptions, type LoomHandler } from "./loom-handler.ts";
export type { LoomHandlerOptions } from "./handler-options.ts";
export { type CloseServerOptions, type LoomServer, type LoomServerOptions, startLoomServer } from "./loom-server.ts";
export type { ServedAgent } from "./runs/run-dispatcher.ts";
export type { ServedKnowledge } from "./api/server-core.ts";
export type { ServedAgents } from "./runs/agent-registry.ts";
export { SERVER_LIMITS, type ServerLimits } from "./guard/server-limits.ts";
export type { Caller, Authorize, AuthorizeRequest } from "./auth/authorize.ts";
export type { Action, Scope } from "./auth/scopes.ts";
export type { Notice, Notify } from "./guard/notice.ts";
export type { Audit, AuditAction, AuditEntry, AuditTarget } from "./auth/audit/auditor.ts";
export type { LinkStore } from "./auth/open-access.ts";
export type { Authenticate, AuthenticatedUser, AuthOptions, JwtOptions } from "./auth/access.ts";
export type { Credentials, NewToken, TokenInfo } from "./auth/credentials/credentials.ts";
export { openCredentials } from "./auth/credentials/open-credentials.ts";
export type { RateCounters } from "./auth/limits/rates.ts";
export type { LoginLease, Principal, PrincipalLimits } from "./auth/principal.ts";
export { ControlConnection, type ControlConnectionOptions } from "./sockets/control-connection.ts";
export { createEventsHandler, type EventsHandlerOptions } from "./events-handler.ts";
export { createMetricsHandler, type MetricsHandlerOptions } from "./endpoints/metrics.ts";
export type { BlobInfo, BlobLimits, BlobStore, ByteRange, PutBlobOptions } from "./blobs/blob-store.ts";
export { createMemoryBlobStore } from "./blobs/create-memory-blob-store.ts";
export { openBlobStore } from "./blobs/open-blob-store.ts";
export { openPostgresStore, type PostgresStore, type PostgresStoreOptions } from "./open-postgres-store.ts";
export { createPage, type PageOptions } from "./pages/create-page.ts";
export type {
  ActiveRuns,
  Agents,
  AnswerApproval,
  Auth,
  Blob,
  Checkpoint,
  DocumentText,
  ForkedSession,
  KnowledgeDocuments,
  KnowledgeHits,
  ModelCall,
  Models,
  NewShare,
  Run,
  Runs,
  Session,
  SessionBranches,
  SessionDetails,
  SessionList,
  Shares,
  UpdateSession,
} from "./api/shapes.generated.ts";
