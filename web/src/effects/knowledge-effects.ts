/** What is done with the knowledge base. Files go up one after the other: each is read and indexed as it comes. */
import { tellFailure } from "../api/api-error.ts";
import { attempt, type Kit } from "./kit.ts";

export interface KnowledgeEffects {
  loadKnowledge(): Promise<void>;
  loadMoreKnowledge(): Promise<void>;
  addKnowledge(files: readonly File[]): void;
  /** One that did not go in, once more. */
  retryKnowledge(id: string): void;
  searchKnowledge(query: string): void;
  deleteKnowledge(document: string): Promise<void>;
}

const TYPING_MS = 200;
/** At once; the others are told to come again. */
const MAX_FILES = 100;

export function createKnowledgeEffects(kit: Kit): KnowledgeEffects {
  const { api, store } = kit;
  const line: { readonly id: string; readonly file: File }[] = [];
  /** As long as they are shown, which is until others are added. */
  const failed = new Map<string, File>();
  let isSending = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let searching = new AbortController();

  /** What was deleted here: an answer to a question from before it does not know that. */
  let changes = 0;
  const load = async (after?: string): Promise<void> => {
    store.dispatch({ type: "knowledge/asked" });
    const asked = changes;
    try {
      const page = await api.listKnowledge(after);
      if (asked === changes) store.dispatch({ type: "knowledge/listed", page, isMore: after !== undefined });
      else await load(after);
    } catch (error) {
      store.dispatch({ type: "knowledge/failed", error: tellFailure(error) });
    }
  };

  const sendAll = async (): Promise<void> => {
    if (isSending) return;
    isSending = true;
    for (let next = line.shift(); next !== undefined; next = line.shift()) {
      const { id, file } = next;
      store.dispatch({ type: "upload/told", id, told: { status: "sending" } });
      try {
        await api.addKnowledge(file, {
          onProgress: (percent) => store.dispatch({ type: "upload/told", id, told: { progress: Math.round(percent) } }),
        });
        store.dispatch({ type: "upload/told", id, told: { status: "done", progress: 100 } });
      } catch (error) {
        failed.set(id, file);
        store.dispatch({ type: "upload/told", id, told: { status: "failed", error: tellFailure(error) } });
      }
    }
    isSending = false;
    await load();
  };

  const find = async (query: string): Promise<void> => {
    searching = new AbortController();
    const { signal } = searching;
    try {
      const { hits } = await api.searchKnowledge(query.trim(), signal);
      store.dispatch({ type: "knowledge/found", query, hits });
    } catch {
      if (!signal.aborted) store.dispatch({ type: "knowledge/search-failed", query });
    }
  };

  return {
    loadKnowledge: () => load(),
    async loadMoreKnowledge() {
      const { next } = store.getSnapshot().knowledge;
      if (next !== undefined) await load(next);
    },
    addKnowledge(files) {
      const taken = files.slice(0, MAX_FILES - line.length).map((file) => ({ id: kit.createId(), file }));
      if (taken.length < files.length)
        store.dispatch({ type: "notice/raised", task: "upload", code: "too_many", message: String(MAX_FILES) });
      store.dispatch({ type: "uploads/cleared" });
      failed.clear();
      store.dispatch({
        type: "uploads/added",
        uploads: taken.map(({ id, file }) => ({ id, name: file.name, progress: 0, status: "waiting" })),
      });
      line.push(...taken);
      void sendAll();
    },
    retryKnowledge(id) {
      const file = failed.get(id);
      if (file === undefined) return;
      failed.delete(id);
      store.dispatch({ type: "upload/told", id, told: { status: "waiting", progress: 0 } });
      line.push({ id, file });
      void sendAll();
    },
    searchKnowledge(query) {
      clearTimeout(timer);
      searching.abort();
      store.dispatch({ type: "knowledge/typed", query });
      if (query.trim() !== "") timer = setTimeout(() => void find(query), TYPING_MS);
    },
    async deleteKnowledge(document) {
      const isDone = await attempt(kit, "knowledge", async () => {
        await api.deleteKnowledge(document);
        return true;
      });
      if (isDone !== true) return;
      changes++;
      store.dispatch({ type: "knowledge/deleted", document });
    },
  };
}
