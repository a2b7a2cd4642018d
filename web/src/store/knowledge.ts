/** State of the knowledge base: documents, uploads and search. */
import type { KnowledgeDocuments, KnowledgeHits } from "../../../src/server/api/shapes.generated.ts";
import type { LoadStatus } from "./session-rows.ts";

export interface KnowledgeUpload {
  readonly id: string;
  readonly name: string;
  /** 0 to 100 of the bytes sent. At 100 the server indexes the file. */
  readonly progress: number;
  readonly status: "waiting" | "sending" | "done" | "failed";
  readonly error?: string;
}

export type KnowledgeDocument = KnowledgeDocuments["documents"][number];

export interface KnowledgeState {
  readonly documents: readonly KnowledgeDocument[];
  /** Totals of the whole base, also if only a part is listed, and the accepted file extensions. */
  readonly totals: KnowledgeDocuments["totals"] | undefined;
  readonly accepts: readonly string[];
  readonly next: string | undefined;
  readonly status: LoadStatus;
  readonly error: string | undefined;
  readonly uploads: readonly KnowledgeUpload[];
  readonly query: string;
  readonly hits: KnowledgeHits["hits"];
  readonly searching: LoadStatus;
}

export type KnowledgeAction =
  | { readonly type: "knowledge/loading" }
  | { readonly type: "knowledge/listed"; readonly page: KnowledgeDocuments; readonly isMore: boolean }
  | { readonly type: "knowledge/failed"; readonly error: string }
  | { readonly type: "knowledge/deleted"; readonly document: string }
  | { readonly type: "uploads/added"; readonly uploads: readonly KnowledgeUpload[] }
  | { readonly type: "upload/updated"; readonly id: string; readonly changes: Partial<KnowledgeUpload> }
  | { readonly type: "uploads/cleared" }
  | { readonly type: "knowledge/typed"; readonly query: string }
  | { readonly type: "knowledge/found"; readonly query: string; readonly hits: KnowledgeHits["hits"] }
  | { readonly type: "knowledge/search-failed"; readonly query: string };

/** Uploads shown. The oldest are dropped first. */
const MAX_UPLOADS = 200;
const MAX_DOCUMENTS = 2000;

export const NO_KNOWLEDGE: KnowledgeState = {
  documents: [],
  totals: undefined,
  accepts: [],
  next: undefined,
  status: "idle",
  error: undefined,
  uploads: [],
  query: "",
  hits: [],
  searching: "idle",
};

/** Returns the totals without this document. */
function subtractDocument({ totals, documents }: KnowledgeState, id: string): KnowledgeState["totals"] {
  const document = documents.find(({ document_id }) => document_id === id);
  if (totals === undefined || document === undefined) return totals;
  return {
    documents: totals.documents - 1,
    passages: totals.passages - document.passages,
    bytes: totals.bytes - document.bytes,
  };
}

export function reduceKnowledge(state: KnowledgeState, action: KnowledgeAction): KnowledgeState {
  switch (action.type) {
    case "knowledge/loading":
      return { ...state, status: state.status === "ready" ? "ready" : "loading", error: undefined };
    case "knowledge/listed": {
      const { documents, next, totals, accepts } = action.page;
      const ids = new Set(documents.map(({ document_id }) => document_id));
      const before = action.isMore ? state.documents.filter(({ document_id }) => !ids.has(document_id)) : [];
      const kept = [...before, ...documents].slice(0, MAX_DOCUMENTS);
      return { ...state, documents: kept, next, totals, accepts, status: "ready", error: undefined };
    }
    case "knowledge/failed":
      return { ...state, status: "failed", error: action.error };
    case "knowledge/deleted":
      return {
        ...state,
        totals: subtractDocument(state, action.document),
        documents: state.documents.filter(({ document_id }) => document_id !== action.document),
        hits: state.hits.filter(({ document_id }) => document_id !== action.document),
      };
    case "uploads/added":
      return { ...state, uploads: [...state.uploads, ...action.uploads].slice(-MAX_UPLOADS) };
    case "upload/updated":
      return {
        ...state,
        uploads: state.uploads.map((upload) => (upload.id === action.id ? { ...upload, ...action.changes } : upload)),
      };
    case "uploads/cleared":
      return {
        ...state,
        uploads: state.uploads.filter(({ status }) => status === "waiting" || status === "sending"),
      };
    case "knowledge/typed": {
      const isEmpty = action.query.trim() === "";
      return {
        ...state,
        query: action.query,
        searching: isEmpty ? "idle" : "loading",
        hits: isEmpty ? [] : state.hits,
      };
    }
    case "knowledge/found":
      return action.query === state.query ? { ...state, hits: action.hits, searching: "ready" } : state;
    case "knowledge/search-failed":
      return action.query === state.query ? { ...state, hits: [], searching: "failed" } : state;
    // Actions of other slices.
    default:
      return state;
  }
}
