/** The actions of requests, and the scopes that allow them. Every action except `public` needs exactly one scope. */

/** What a request does. */
export type Action =
  /** Available without authentication: health, the API description and sign-in. */
  | "public"
  | "sessions.list"
  | "sessions.create"
  | "sessions.read"
  /** What models were sent and returned. Never allowed by a share link. */
  | "prompts.read"
  | "sessions.write"
  | "sessions.delete"
  | "sessions.share"
  | "runs.start"
  | "runs.control"
  | "runs.approve"
  | "ingest"
  | "blobs.read"
  | "blobs.write"
  | "images.read"
  | "knowledge.read"
  | "knowledge.write"
  | "owners.erase"
  | "server.read"
  | "metrics.read";

/** `admin` allows every action on the sessions of all owners. */
export const SCOPES = ["read", "write", "run", "approve", "knowledge", "ingest", "metrics", "admin"] as const;
/** A permission of a credential. */
export type Scope = (typeof SCOPES)[number];

/**
 * Scopes of a token that names none: what a person needs to work with agents. `knowledge` is not included, because
 * the agents of all owners read the knowledge base.
 */
export const DEFAULT_SCOPES: readonly Scope[] = ["read", "write", "run", "approve"];

/**
 * Prefix of scopes in the claims of a JWT. Without it, `admin` of another service of the issuer would be `admin` here.
 */
export const DEFAULT_SCOPE_PREFIX = "loom:";

const SCOPE_OF: { readonly [action in Exclude<Action, "public">]: Scope } = {
  "sessions.list": "read",
  "sessions.read": "read",
  "prompts.read": "read",
  "blobs.read": "read",
  "images.read": "read",
  "knowledge.read": "read",
  "server.read": "read",
  "sessions.create": "write",
  "sessions.write": "write",
  "sessions.delete": "write",
  "sessions.share": "write",
  "blobs.write": "write",
  "owners.erase": "write",
  "runs.start": "run",
  "runs.control": "run",
  "runs.approve": "approve",
  "knowledge.write": "knowledge",
  ingest: "ingest",
  "metrics.read": "metrics",
};

/** Undefined for a public action. */
export function scopeOf(action: Action): Scope | undefined {
  return action === "public" ? undefined : SCOPE_OF[action];
}

/** Actions a share link allows on its session. */
const SHARE_LINK_ACTIONS: ReadonlySet<Action> = new Set<Action>(["sessions.read", "blobs.read", "images.read"]);

export function isAllowedByShareLink(action: Action): boolean {
  return SHARE_LINK_ACTIONS.has(action);
}

/** Actions that may create the session they name. */
const CREATING_ACTIONS: ReadonlySet<Action> = new Set<Action>([
  "sessions.create",
  "runs.start",
  "blobs.write",
  "ingest",
]);

export function mayCreateSession(action: Action): boolean {
  return CREATING_ACTIONS.has(action);
}
