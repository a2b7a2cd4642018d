/** The doors of the server that the page goes through, each with its types. It keeps nothing and shows nothing. */
import type {
  Agents,
  Auth,
  Blob as BlobInfo,
  ForkedSession,
  KnowledgeDocuments,
  KnowledgeHits,
  Models,
  NewShare,
  Session,
  SessionDetails,
  SessionList,
  Shares,
} from "loom-agent/server";
import type { InspectorApi } from "../inspector/inspector-api.ts";
import { ApiError } from "./api-error.ts";
import { ask as askServer } from "./ask.ts";
import { readRunFrames } from "./read-run-frames.ts";
import { upload, type UploadOptions } from "./upload.ts";

export interface ListOptions {
  readonly limit?: number;
  readonly after?: string | undefined;
  readonly q?: string;
  readonly signal?: AbortSignal;
}

export interface Api extends InspectorApi {
  /** Who asks, and what they may do. */
  getAuth(): Promise<Auth>;
  /** With a token, a JWT or the secret of a link: from then on the browser brings a cookie. */
  signIn(credential: string): Promise<Auth>;
  signOut(): Promise<void>;
  /** For so long, or until it is taken back. */
  createShare(session: string, expiresInMs: number | undefined): Promise<NewShare>;
  listShares(session: string): Promise<Shares>;
  deleteShare(session: string, share: string): Promise<void>;
  listSessions(options?: ListOptions): Promise<SessionList>;
  getSession(session: string, signal?: AbortSignal): Promise<SessionDetails>;
  createSession(session: string): Promise<Session>;
  renameSession(session: string, title: string): Promise<Session>;
  deleteSession(session: string): Promise<void>;
  /** Shares all that was before the run; asked again with the same key it is the same fork. */
  forkBefore(session: string, runId: string, key: string): Promise<ForkedSession>;
  /** Shares all that is over. */
  copySession(session: string, title: string, key: string): Promise<ForkedSession>;
  listAgents(): Promise<Agents>;
  listModels(): Promise<Models>;
  putBlob(session: string, file: File, options: UploadOptions): Promise<BlobInfo>;
  listKnowledge(after?: string): Promise<KnowledgeDocuments>;
  addKnowledge(file: File, options: UploadOptions): Promise<unknown>;
  searchKnowledge(query: string, signal?: AbortSignal): Promise<KnowledgeHits>;
  deleteKnowledge(document: string): Promise<void>;
}

const at = (session: string): string => `/v1/sessions/${encodeURIComponent(session)}`;

/** `onUnauthorized`: told where the server does not know who asks, whatever was asked; who asked is told as well. */
export function createApi(onUnauthorized: () => void = () => undefined): Api {
  const heed = (error: unknown): never => {
    if (error instanceof ApiError && error.code === "unauthorized") onUnauthorized();
    throw error;
  };
  const ask: typeof askServer = (path, question) => askServer<never>(path, question).catch(heed);
  return {
    async *readFrames(session, runId, request) {
      try {
        yield* readRunFrames(session, runId, request);
      } catch (error) {
        heed(error);
      }
    },
    // Whose answer it is to say so.
    getAuth: () => askServer("/v1/auth"),
    signIn: (credential) => askServer("/v1/auth/sign-in", { method: "POST", body: { credential } }),
    signOut: () => askServer("/v1/auth/sign-out", { method: "POST" }),
    createShare: (session, expiresInMs) =>
      ask(`${at(session)}/shares`, {
        method: "POST",
        body: expiresInMs === undefined ? {} : { expires_in_ms: expiresInMs },
      }),
    listShares: (session) => ask(`${at(session)}/shares`),
    deleteShare: (session, share) => ask(`${at(session)}/shares/${encodeURIComponent(share)}`, { method: "DELETE" }),
    listSessions: ({ limit, after, q, signal } = {}) => ask("/v1/sessions", { query: { limit, after, q }, signal }),
    getSession: (session, signal) => ask(at(session), { signal }),
    createSession: (session) => ask("/v1/sessions", { method: "POST", body: { session_id: session } }),
    renameSession: (session, title) => ask(at(session), { method: "PATCH", body: { title } }),
    deleteSession: (session) => ask(at(session), { method: "DELETE" }),
    forkBefore: (session, runId, key) =>
      ask(`${at(session)}/fork`, { method: "POST", body: { before_run: runId }, key }),
    copySession: (session, title, key) => ask(`${at(session)}/fork`, { method: "POST", body: { title }, key }),
    listAgents: () => ask("/v1/agents"),
    listModels: () => ask("/v1/models"),
    putBlob: (session, file, options) =>
      upload<BlobInfo>(`${at(session)}/blobs`, { name: file.name }, file, options).catch(heed),
    listKnowledge: (after) => ask("/v1/knowledge", { query: { after } }),
    addKnowledge: (file, options) => upload("/v1/knowledge", { name: file.name }, file, options).catch(heed),
    searchKnowledge: (query, signal) => ask("/v1/knowledge/search", { query: { q: query, limit: 20 }, signal }),
    deleteKnowledge: (document) => ask(`/v1/knowledge/${encodeURIComponent(document)}`, { method: "DELETE" }),
  };
}
