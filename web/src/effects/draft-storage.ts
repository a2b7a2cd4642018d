/** Keeps drafts and unconfirmed messages in the storage of the tab, for the user who wrote them. */
import type { ReducerStore } from "../store/create-store.ts";
import type { PageAction, PageState } from "../store/page-state.ts";
import type { KeyValueStorage } from "../store/settings.ts";
import { readDraftOwner, saveDrafts } from "../store/stored-drafts.ts";

export interface DraftStorage {
  /** Stores the drafts now. */
  save(): void;
  /** Called when a user gains access. Removes the drafts if another user wrote them, and returns false then. */
  claim(): boolean;
}

/** Drafts are stored after a pause in typing. */
const PAUSE_MS = 400;

export function storeDrafts(
  store: ReducerStore<PageState, PageAction>,
  storage: KeyValueStorage | undefined,
): DraftStorage {
  let { composing } = store.getSnapshot();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let owner = readDraftOwner(storage);
  let isFull = false;
  const save = (): void => {
    const wasFull = isFull;
    isFull = !saveDrafts(storage, composing, owner);
    if (isFull && !wasFull) store.dispatch({ type: "notice/raised", task: "save", code: "storage_full", message: "" });
  };
  store.subscribe(() => {
    const now = store.getSnapshot().composing;
    if (now === composing) return;
    composing = now;
    clearTimeout(timer);
    timer = setTimeout(save, PAUSE_MS);
  });
  return {
    save,
    claim() {
      const { phase, owner: current = "" } = store.getSnapshot().access;
      // With a share link the page is read-only.
      if (phase === "shared") return true;
      const isOwn = owner === undefined || owner === current;
      owner = current;
      if (!isOwn) store.dispatch({ type: "composing/cleared" });
      return isOwn;
    },
  };
}
