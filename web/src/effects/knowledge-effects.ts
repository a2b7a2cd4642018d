/** Effects of the knowledge base. Files are uploaded one at a time; each is indexed before the next starts. */
import { formatFailure } from "../api/api-error.ts";
import { createQuery } from "../api/query.ts";
import { attempt, type EffectContext } from "./effect-context.ts";

export interface KnowledgeEffects {
  loadKnowledge(): Promise<void>;
  loadMoreKnowledge(): Promise<void>;
  addKnowledge(files: readonly File[]): void;
  /** Repeats a failed upload. */
  retryKnowledge(id: string): void;
  searchKnowledge(query: string): void;
  deleteKnowledge(document: string): Promise<void>;
}

const TYPING_MS = 200;
/** Files per upload. A notice reports the rest. */
const MAX_FILES = 100;

export function createKnowledgeEffects(context: EffectContext): KnowledgeEffects {
  const { api, store } = context;
  const queue: { readonly id: string; readonly file: File }[] = [];
  /** Failed files, kept until the next upload. */
  const failed = new Map<string, File>();
  let isSending = false;
  const listed = createQuery();
  const searched = createQuery();

  const load = async (after?: string): Promise<void> => {
    store.dispatch({ type: "knowledge/loading" });
    try {
      const page = await listed.fresh(() => api.listKnowledge(after));
      store.dispatch({ type: "knowledge/listed", page, isMore: after !== undefined });
    } catch (error) {
      store.dispatch({ type: "knowledge/failed", error: formatFailure(error) });
    }
  };

  const sendAll = async (): Promise<void> => {
    if (isSending) return;
    isSending = true;
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const { id, file } = next;
      store.dispatch({ type: "upload/updated", id, changes: { status: "sending" } });
      try {
        await api.addKnowledge(file, {
          onProgress: (percent) =>
            store.dispatch({ type: "upload/updated", id, changes: { progress: Math.round(percent) } }),
        });
        store.dispatch({ type: "upload/updated", id, changes: { status: "done", progress: 100 } });
      } catch (error) {
        failed.set(id, file);
        store.dispatch({ type: "upload/updated", id, changes: { status: "failed", error: formatFailure(error) } });
      }
    }
    isSending = false;
    await load();
  };

  const find = async (query: string): Promise<void> => {
    try {
      const found = await searched.latest((signal) => api.searchKnowledge(query.trim(), signal));
      if (found !== undefined) store.dispatch({ type: "knowledge/found", query, hits: found.hits });
    } catch {
      store.dispatch({ type: "knowledge/search-failed", query });
    }
  };

  return {
    loadKnowledge: () => load(),
    async loadMoreKnowledge() {
      const { next } = store.getSnapshot().knowledge;
      if (next !== undefined) await load(next);
    },
    addKnowledge(files) {
      const taken = files.slice(0, MAX_FILES - queue.length).map((file) => ({ id: context.createId(), file }));
      if (taken.length < files.length)
        store.dispatch({ type: "notice/raised", task: "upload", code: "too_many", message: String(MAX_FILES) });
      store.dispatch({ type: "uploads/cleared" });
      failed.clear();
      store.dispatch({
        type: "uploads/added",
        uploads: taken.map(({ id, file }) => ({ id, name: file.name, progress: 0, status: "waiting" })),
      });
      queue.push(...taken);
      void sendAll();
    },
    retryKnowledge(id) {
      const file = failed.get(id);
      if (file === undefined) return;
      failed.delete(id);
      store.dispatch({ type: "upload/updated", id, changes: { status: "waiting", progress: 0 } });
      queue.push({ id, file });
      void sendAll();
    },
    searchKnowledge(query) {
      searched.cancel();
      store.dispatch({ type: "knowledge/typed", query });
      if (query.trim() !== "") searched.schedule(TYPING_MS, () => void find(query));
    },
    async deleteKnowledge(document) {
      const isDone = await attempt(context, "knowledge", async () => {
        await api.deleteKnowledge(document);
        return true;
      });
      if (isDone !== true) return;
      listed.change();
      store.dispatch({ type: "knowledge/deleted", document });
    },
  };
}
