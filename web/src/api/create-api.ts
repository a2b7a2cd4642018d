/** Typed client of the server endpoints that the page uses. It has no state. */
import type {
  ActiveRuns,
  Agents,
  AnswerApproval,
  Auth,
  Blob as BlobInfo,
  DocumentText,
  ForkedSession,
  KnowledgeDocuments,
  KnowledgeHits,
  Models,
  NewShare,
  Runs,
  Session,
  SessionBranches,
  SessionDetails,
  SessionList,
  Shares,
  UpdateSession,
} from "../../../src/server/api/shapes.generated.ts";
import type { JsonObject } from "loom-agent/protocol";
import type { InspectorApi } from "../inspector/inspector-api.ts";
import { ApiError } from "./api-error.ts";
import { readRunFrames, requestJson, requestStream, upload, type UploadOptions } from "./request.ts";

export interface SessionListRequest {
  readonly limit?: number;
  readonly after?: string | undefined;
  readonly q?: string;
  /** `newest`: each conversation once. */
  readonly versions?: "newest";
  readonly pinned?: boolean;
  readonly archived?: boolean;
  readonly signal?: AbortSignal;
}

export interface DocumentRange {
  readonly from?: number | undefined;
  readonly line?: number | undefined;
  readonly limit: number;
}

export interface Api extends InspectorApi {
  /** Returns the caller and its scopes. */
  getAuth(): Promise<Auth>;
  /** Signs in with a token, a JWT or the secret of a share link. The server sets a cookie. */
  signIn(credential: string): Promise<Auth>;
  signOut(): Promise<void>;
  /** `expiresInMs` undefined: valid until revoked. */
  createShare(session: string, expiresInMs: number | undefined): Promise<NewShare>;
  listShares(session: string): Promise<Shares>;
  deleteShare(session: string, share: string): Promise<void>;
  listSessions(options?: SessionListRequest): Promise<SessionList>;
  getSession(session: string, signal?: AbortSignal): Promise<SessionDetails>;
  /** Returns the versions of the conversation, oldest first, at most 500. */
  listBranches(session: string): Promise<SessionBranches>;
  /** Returns the latest 500 runs, newest first. */
  listRuns(session: string): Promise<Runs>;
  /** Returns the message of the run that begins after this record. */
  readQuestion(session: string, after: number): Promise<string>;
  /** Returns live and queued runs of all sessions. `limit` counts sessions. */
  listActiveRuns(query: { readonly limit: number; readonly state?: "waiting" }): Promise<ActiveRuns>;
  cancelRun(session: string, runId: string, key: string): Promise<unknown>;
  /** The first answer counts; a later one rejects with `already_answered`. */
  answerApproval(session: string, call: string, answer: AnswerApproval, key: string): Promise<unknown>;
  setToolPermission(session: string, tool: string, rule: "allow" | "ask", key: string): Promise<unknown>;
  createSession(session: string): Promise<Session>;
  /** Changes all versions of the conversation. */
  updateSession(session: string, changes: UpdateSession): Promise<Session>;
  /** Deletes all versions of the conversation. */
  deleteConversation(session: string): Promise<void>;
  /** Forks the session before the run. The same key returns the same fork. */
  forkBefore(session: string, runId: string, key: string): Promise<ForkedSession>;
  /**
   * Forks the session at a checkpoint, with other values in its state. The run continues in the fork. The same key
   * returns the same fork.
   */
  forkAt(session: string, checkpointId: string, state: JsonObject | undefined, key: string): Promise<ForkedSession>;
  /** Duplicates the session with all its finished runs. The same key returns the same copy. */
  copySession(session: string, title: string, key: string): Promise<ForkedSession>;
  listAgents(): Promise<Agents>;
  listModels(): Promise<Models>;
  putBlob(session: string, file: File, options: UploadOptions): Promise<BlobInfo>;
  listKnowledge(after?: string): Promise<KnowledgeDocuments>;
  addKnowledge(file: File, options: UploadOptions): Promise<unknown>;
  searchKnowledge(query: string, signal?: AbortSignal): Promise<KnowledgeHits>;
  /** Reads passages of a document, from a position or before a line. */
  readDocument(document: string, range: DocumentRange, signal?: AbortSignal): Promise<DocumentText>;
  deleteKnowledge(document: string): Promise<void>;
}

const MAX_LISTED = 500;

const sessionPath = (session: string): string => `/v1/sessions/${encodeURIComponent(session)}`;

/** `onUnauthorized` is called on every `unauthorized` response, before the request rejects. */
export function createApi(onUnauthorized: () => void = () => undefined): Api {
  const reportUnauthorized = (error: unknown): never => {
    if (error instanceof ApiError && error.code === "unauthorized") onUnauthorized();
    throw error;
  };
  const request: typeof requestJson = (path, options) => requestJson<never>(path, options).catch(reportUnauthorized);
  return {
    async *readFrames(session, runId, request) {
      try {
        yield* readRunFrames(session, runId, request);
      } catch (error) {
        reportUnauthorized(error);
      }
    },
    readModelCall: (session, runId, callId, signal) =>
      request(`${sessionPath(session)}/runs/${encodeURIComponent(runId)}/model-calls/${encodeURIComponent(callId)}`, {
        signal,
      }),
    readCheckpoint: (session, checkpointId, signal) =>
      request(`${sessionPath(session)}/checkpoints/${encodeURIComponent(checkpointId)}`, { signal }),
    forkAt: (session, checkpointId, state, key) =>
      request(`${sessionPath(session)}/fork`, {
        method: "POST",
        body: { checkpoint_id: checkpointId, ...(state === undefined ? {} : { state }) },
        key,
      }),
    // These endpoints return the access state themselves.
    getAuth: () => requestJson("/v1/auth"),
    signIn: (credential) => requestJson("/v1/auth/sign-in", { method: "POST", body: { credential } }),
    signOut: () => requestJson("/v1/auth/sign-out", { method: "POST" }),
    createShare: (session, expiresInMs) =>
      request(`${sessionPath(session)}/shares`, {
        method: "POST",
        body: expiresInMs === undefined ? { never_expires: true } : { expires_in_ms: expiresInMs },
      }),
    listShares: (session) => request(`${sessionPath(session)}/shares`),
    deleteShare: (session, share) =>
      request(`${sessionPath(session)}/shares/${encodeURIComponent(share)}`, { method: "DELETE" }),
    listSessions: ({ signal, ...query } = {}) => request("/v1/sessions", { query, signal }),
    getSession: (session, signal) => request(sessionPath(session), { signal }),
    listBranches: (session) => request(`${sessionPath(session)}/branches`, { query: { limit: MAX_LISTED } }),
    listRuns: (session) => request(`${sessionPath(session)}/runs`, { query: { limit: MAX_LISTED } }),
    readQuestion: async (session, after) => {
      const response = await requestStream(`${sessionPath(session)}/events`, {
        accept: "application/x-ndjson",
        query: { dialect: "loom", after, limit: 1 },
      });
      const { message } = JSON.parse((await response.text()).split("\n", 1)[0] ?? "") as { readonly message?: unknown };
      if (typeof message !== "string") throw new ApiError("bad_answer", "The run has no message.");
      return message;
    },
    listActiveRuns: (query) => request("/v1/runs", { query }),
    cancelRun: (session, runId, key) =>
      request(`${sessionPath(session)}/runs/${encodeURIComponent(runId)}/cancel`, { method: "POST", key }),
    answerApproval: (session, call, answer, key) =>
      request(`${sessionPath(session)}/approvals/${encodeURIComponent(call)}`, { method: "POST", body: answer, key }),
    setToolPermission: (session, tool, rule, key) =>
      request(`${sessionPath(session)}/permissions/${encodeURIComponent(tool)}`, {
        method: "PUT",
        body: { rule },
        key,
      }),
    createSession: (session) => request("/v1/sessions", { method: "POST", body: { session_id: session } }),
    updateSession: (session, changes) => request(sessionPath(session), { method: "PATCH", body: changes }),
    deleteConversation: (session) => request(sessionPath(session), { method: "DELETE", query: { versions: "all" } }),
    forkBefore: (session, runId, key) =>
      request(`${sessionPath(session)}/fork`, { method: "POST", body: { before_run: runId }, key }),
    copySession: (session, title, key) =>
      request(`${sessionPath(session)}/fork`, { method: "POST", body: { title }, key }),
    listAgents: () => request("/v1/agents"),
    listModels: () => request("/v1/models"),
    putBlob: (session, file, options) =>
      upload<BlobInfo>(`${sessionPath(session)}/blobs`, { name: file.name }, file, options).catch(reportUnauthorized),
    listKnowledge: (after) => request("/v1/knowledge", { query: { after } }),
    addKnowledge: (file, options) =>
      upload("/v1/knowledge", { name: file.name }, file, options).catch(reportUnauthorized),
    searchKnowledge: (query, signal) => request("/v1/knowledge/search", { query: { q: query, limit: 20 }, signal }),
    readDocument: (document, range, signal) =>
      request(`/v1/knowledge/${encodeURIComponent(document)}/text`, { query: { ...range }, signal }),
    deleteKnowledge: (document) => request(`/v1/knowledge/${encodeURIComponent(document)}`, { method: "DELETE" }),
  };
}
