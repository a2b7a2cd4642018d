/** Loads a document of the knowledge base in parts. */
import { useCallback, useEffect, useRef, useState } from "react";
import type { DocumentText } from "loom-agent/server";
import { ApiError, formatFailure } from "../api/api-error.ts";
import type { Api, DocumentRange } from "../api/create-api.ts";
import { addParts, type LoadedText } from "./document-parts.ts";

export interface DocumentState {
  readonly loaded: LoadedText | undefined;
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

const PAGE = 50;

/** `line`: where to start. `id` undefined: nothing is loaded. */
export function useDocument(api: Api, id: string | undefined, line: number | undefined): DocumentControl {
  const [state, setState] = useState<DocumentState>({ loaded: undefined, isLoading: true, error: undefined });
  const pending = useRef<AbortController>(undefined);
  const last = useRef<DocumentRange>({ limit: PAGE });
  const load = useCallback(
    (range: DocumentRange): void => {
      if (id === undefined) return;
      pending.current?.abort();
      last.current = range;
      const { signal } = (pending.current = new AbortController());
      setState((before) => ({ ...before, isLoading: true, error: undefined }));
      const finish = (page: DocumentText): void =>
        setState(({ loaded }) => ({ loaded: addParts(loaded, page), isLoading: false, error: undefined }));
      const fail = (error: unknown): void => {
        if (signal.aborted) return;
        const code = error instanceof ApiError ? error.code : "";
        setState((before) => ({ ...before, isLoading: false, error: { code, message: formatFailure(error) } }));
      };
      void api.readDocument(id, range, signal).then(finish, fail);
    },
    [api, id],
  );
  useEffect(() => {
    load({ line, limit: PAGE });
    return () => pending.current?.abort();
  }, [load, line]);
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
