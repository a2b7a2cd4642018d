/** What a credential is for: each scope allows some actions, and no action is allowed by none. */
import type { Action } from "../guard/authorize.ts";

/** `admin` sees and changes the sessions of everybody, and allows every action. */
export const SCOPES = ["read", "write", "run", "approve", "knowledge", "ingest", "metrics", "admin"] as const;
export type Scope = (typeof SCOPES)[number];

/** Of a token that names none: what a person needs to work with agents. */
export const USUAL_SCOPES: readonly Scope[] = ["read", "write", "run", "approve", "knowledge"];

const SCOPE_OF: { readonly [action in Exclude<Action, "public">]: Scope } = {
  "sessions.list": "read",
  "sessions.read": "read",
  "blobs.read": "read",
  "images.read": "read",
  "knowledge.read": "read",
  "server.read": "read",
  "sessions.create": "write",
  "sessions.write": "write",
  "sessions.delete": "write",
  "sessions.share": "write",
  "blobs.write": "write",
  "runs.start": "run",
  "runs.control": "run",
  "runs.approve": "approve",
  "knowledge.write": "knowledge",
  ingest: "ingest",
  "metrics.read": "metrics",
};

/** Undefined where everybody may. */
export function scopeOf(action: Action): Scope | undefined {
  return action === "public" ? undefined : SCOPE_OF[action];
}

/** What somebody may do with one session who was only given a link to it. */
const SHARED: ReadonlySet<Action> = new Set<Action>(["sessions.read", "blobs.read", "images.read"]);

export function isShared(action: Action): boolean {
  return SHARED.has(action);
}

/** What may make a session that is not there yet. */
const MAKING: ReadonlySet<Action> = new Set<Action>(["sessions.create", "runs.start", "blobs.write", "ingest"]);

export function mayMake(action: Action): boolean {
  return MAKING.has(action);
}
