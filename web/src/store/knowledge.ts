/** The knowledge base as the page knows it: its documents, what goes up, and what was looked for. */
import type { KnowledgeDocuments, KnowledgeHits } from "loom-agent/server";
import type { Loading } from "./sessions.ts";

export interface KnowledgeUpload {
  readonly id: string;
  readonly name: string;
  /** 0 to 100 of what is sent; at 100 it is read and indexed. */
  readonly progress: number;
  readonly status: "waiting" | "sending" | "done" | "failed";
  readonly error?: string;
}

export type KnowledgeDocument = KnowledgeDocuments["documents"][number];

export interface KnowledgeState {
  readonly documents: readonly KnowledgeDocument[];
  /** Of the whole base, whatever of it is listed; how names of files may end. */
  readonly totals: KnowledgeDocuments["totals"] | undefined;
  readonly accepts: readonly string[];
  readonly next: string | undefined;
  readonly status: Loading;
  readonly error: string | undefined;
  readonly uploads: readonly KnowledgeUpload[];
  readonly query: string;
  readonly hits: KnowledgeHits["hits"];
  readonly searching: Loading;
}

export type KnowledgeAction =
  | { readonly type: "knowledge/asked" }
  | { readonly type: "knowledge/listed"; readonly page: KnowledgeDocuments; readonly isMore: boolean }
  | { readonly type: "knowledge/failed"; readonly error: string }
  | { readonly type: "knowledge/deleted"; readonly document: string }
  | { readonly type: "uploads/added"; readonly uploads: readonly KnowledgeUpload[] }
  | { readonly type: "upload/told"; readonly id: string; readonly told: Partial<KnowledgeUpload> }
  | { readonly type: "uploads/cleared" }
  | { readonly type: "knowledge/typed"; readonly query: string }
  | { readonly type: "knowledge/found"; readonly query: string; readonly hits: KnowledgeHits["hits"] }
  | { readonly type: "knowledge/search-failed"; readonly query: string };

/** Uploads shown; those that are done go first. */
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

/** The totals without this document. */
function takeFrom({ totals, documents }: KnowledgeState, id: string): KnowledgeState["totals"] {
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
    case "knowledge/asked":
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
        totals: takeFrom(state, action.document),
        documents: state.documents.filter(({ document_id }) => document_id !== action.document),
        hits: state.hits.filter(({ document_id }) => document_id !== action.document),
      };
    case "uploads/added":
      return { ...state, uploads: [...state.uploads, ...action.uploads].slice(-MAX_UPLOADS) };
    case "upload/told":
      return {
        ...state,
        uploads: state.uploads.map((upload) => (upload.id === action.id ? { ...upload, ...action.told } : upload)),
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
    // What concerns others.
    default:
      return state;
  }
}
