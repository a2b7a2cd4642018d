/**
 * Entry point `loom-agent/server`: the HTTP and WebSocket server as a handler, the same handler with its own Node
 * server, and the parts to build a custom one.
 */
export { createLoomHandler, type LoomHandler } from "./loom-handler.ts";
export type { LoomHandlerOptions } from "./handler-options.ts";
export { type LoomServer, type LoomServerOptions, startLoomServer } from "./loom-server.ts";
export type { ServedAgents } from "./runs/agent-registry.ts";
export { SERVER_LIMITS, type ServerLimits } from "./guard/server-limits.ts";
export type { Authorize, AuthorizeRequest } from "./auth/authorize.ts";
export type { Action, Scope } from "./auth/scopes.ts";
export type { Audit, AuditEntry } from "./auth/audit/auditor.ts";
export type { Authenticate, AuthenticatedUser, AuthOptions } from "./auth/access.ts";
export type { Credentials } from "./auth/credentials/credentials.ts";
export { openCredentials } from "./auth/credentials/open-credentials.ts";
export { ControlConnection, type ControlConnectionOptions } from "./sockets/control-connection.ts";
export { createEventsHandler, type EventsHandlerOptions } from "./events-handler.ts";
export { createMetricsHandler } from "./endpoints/metrics.ts";
export type { BlobStore } from "./blobs/blob-store.ts";
export { createMemoryBlobStore } from "./blobs/create-memory-blob-store.ts";
export { openBlobStore } from "./blobs/open-blob-store.ts";
export { openPostgresStore, type PostgresStore } from "./open-postgres-store.ts";
export { createPage } from "./pages/create-page.ts";
