/**
 * Keeps the written system prompts in the storage of the browser, for the user who wrote them. All tabs have the same
 * prompts.
 */
import type { ReducerStore } from "../store/create-store.ts";
import { NO_INSTRUCTIONS, readInstructions, saveInstructions, writeInstructions } from "../store/instructions.ts";
import type { PageAction, PageState } from "../store/page-state.ts";
import type { KeyValueStorage } from "../store/settings.ts";

export interface InstructionStorage {
  /** Loads what the current user wrote, also in other tabs. */
  load(): void;
  /** Removes everything, because another user takes over the page. */
  clear(): void;
}

export function storeInstructions(
  store: ReducerStore<PageState, PageAction>,
  storage: KeyValueStorage | undefined,
): InstructionStorage {
  let saved = store.getSnapshot().instructions;
  const findOwner = (): string => store.getSnapshot().access.owner ?? "";
  store.subscribe(() => {
    const { instructions } = store.getSnapshot();
    if (instructions === saved) return;
    const before = saved;
    saved = instructions;
    saveInstructions(storage, findOwner(), before, saved);
  });
  return {
    load() {
      const { phase } = store.getSnapshot().access;
      // With a share link the page is read-only.
      if (storage === undefined || (phase !== "open" && phase !== "signed-in")) return;
      saved = readInstructions(storage, findOwner());
      store.dispatch({ type: "instructions/loaded", instructions: saved });
    },
    clear() {
      store.dispatch({ type: "instructions/loaded", instructions: NO_INSTRUCTIONS });
      writeInstructions(storage, findOwner(), NO_INSTRUCTIONS);
    },
  };
}
