/** The doors of the server that the page goes through, each with its types. It keeps nothing and shows nothing. */
import type {
  Agents,
  Blob as BlobInfo,
  ForkedSession,
  KnowledgeDocuments,
  KnowledgeHits,
  Models,
  Session,
  SessionDetails,
  SessionList,
} from "loom-agent/server";
import type { InspectorApi } from "../inspector/inspector-api.ts";
import { ask } from "./ask.ts";
import { readRunFrames } from "./read-run-frames.ts";
import { upload, type UploadOptions } from "./upload.ts";

export interface ListOptions {
  readonly limit?: number;
  readonly after?: string | undefined;
  readonly q?: string;
  readonly signal?: AbortSignal;
}

export interface Api extends InspectorApi {
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

export function createApi(): Api {
  return {
    readFrames: readRunFrames,
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
    putBlob: (session, file, options) => upload(`${at(session)}/blobs`, { name: file.name }, file, options),
    listKnowledge: (after) => ask("/v1/knowledge", { query: { after } }),
    addKnowledge: (file, options) => upload("/v1/knowledge", { name: file.name }, file, options),
    searchKnowledge: (query, signal) => ask("/v1/knowledge/search", { query: { q: query, limit: 20 }, signal }),
    deleteKnowledge: (document) => ask(`/v1/knowledge/${encodeURIComponent(document)}`, { method: "DELETE" }),
  };
}
