/** Loads a document of the knowledge base in parts. */
import { useCallback, useEffect, useRef, useState } from "react";
import type { Reference } from "loom-agent/client";
import type { DocumentText } from "../../../src/server/api/shapes.generated.ts";
import { ApiError, formatFailure } from "../api/api-error.ts";
import type { Api, DocumentRange } from "../api/create-api.ts";
import { addParts, type LoadedText, openAtPassage, type OpenedDocument, PAGE } from "./document-parts.ts";

export interface DocumentState {
  readonly loaded: LoadedText | undefined;
  /** The cited passage may be in a part that was not read. */
  readonly isIncomplete: boolean;
  /** A request is pending. */
  readonly isLoading: boolean;
  readonly error: { readonly code: string; readonly message: string } | undefined;
}

export interface DocumentControl extends DocumentState {
  readonly hasEarlier: boolean;
  readonly hasLater: boolean;
  readonly loadEarlier: () => void;
  readonly loadLater: () => void;
  /** Repeats the last request. */
  readonly retry: () => void;
}

/** `source`: the document, and the passage where to start. `id` undefined: nothing is loaded. */
export function useDocument(api: Api, id: string | undefined, source: Reference): DocumentControl {
  const [state, setState] = useState<DocumentState>({
    loaded: undefined,
    isIncomplete: false,
    isLoading: true,
    error: undefined,
  });
  const pending = useRef<AbortController>(undefined);
  /** The last request; undefined: the passage. */
  const last = useRef<DocumentRange>(undefined);
  const load = useCallback(
    (range: DocumentRange | undefined): void => {
      if (id === undefined) return;
      pending.current?.abort();
      last.current = range;
      const { signal } = (pending.current = new AbortController());
      setState((before) => ({ ...before, isLoading: true, error: undefined }));
      const fail = (error: unknown): void => {
        if (signal.aborted) return;
        const code = error instanceof ApiError ? error.code : "";
        setState((before) => ({ ...before, isLoading: false, error: { code, message: formatFailure(error) } }));
      };
      const read = async (part: DocumentRange): Promise<DocumentText> => api.readDocument(id, part, signal);
      const open = async (): Promise<void> => {
        const opened: Partial<OpenedDocument> & Pick<OpenedDocument, "page"> =
          range === undefined ? await openAtPassage(read, source) : { page: await read(range) };
        if (signal.aborted) return;
        setState((before) => ({
          isIncomplete: opened.isIncomplete ?? before.isIncomplete,
          loaded: addParts(range === undefined ? undefined : before.loaded, opened.page),
          isLoading: false,
          error: undefined,
        }));
      };
      void open().catch(fail);
    },
    [api, id, source],
  );
  useEffect(() => {
    load(undefined);
    return () => pending.current?.abort();
  }, [load]);
  const { loaded, isLoading } = state;
  const end = loaded === undefined ? 0 : loaded.from + loaded.parts.length;
  return {
    ...state,
    hasEarlier: loaded !== undefined && loaded.from > 0,
    hasLater: loaded !== undefined && end < loaded.about.passages,
    loadEarlier: () => {
      if (isLoading) return;
      const from = Math.max(0, (loaded?.from ?? 0) - PAGE);
      load({ from, limit: Math.max(1, (loaded?.from ?? 0) - from) });
    },
    loadLater: () => {
      if (!isLoading) load({ from: end, limit: PAGE });
    },
    retry: () => load(last.current),
  };
}
