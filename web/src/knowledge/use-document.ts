/** Loads a document of the knowledge base in parts. */
import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import type { Reference } from "loom-agent/client";
import type { DocumentText } from "../../../src/server/api/shapes.generated.ts";
import { ApiError, formatFailure } from "../api/api-error.ts";
import type { Api, DocumentRange } from "../api/create-api.ts";
import { createQuery } from "../api/query.ts";
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
  const [query] = useState(createQuery);
  /** The last request; undefined: the passage. */
  const last = useRef<DocumentRange>(undefined);
  const load = useCallback(
    (range: DocumentRange | undefined): void => {
      if (id === undefined) return;
      last.current = range;
      setState((before) => ({ ...before, isLoading: true, error: undefined }));
      const fail = (error: unknown): void => {
        const code = error instanceof ApiError ? error.code : "";
        setState((before) => ({ ...before, isLoading: false, error: { code, message: formatFailure(error) } }));
      };
      const open = async (signal: AbortSignal): Promise<Partial<OpenedDocument> & Pick<OpenedDocument, "page">> => {
        const read = async (part: DocumentRange): Promise<DocumentText> => api.readDocument(id, part, signal);
        return range === undefined ? openAtPassage(read, source) : { page: await read(range) };
      };
      query.latest(open).then((opened) => {
        if (opened === undefined) return;
        setState((before) => ({
          isIncomplete: opened.isIncomplete ?? before.isIncomplete,
          loaded: addParts(range === undefined ? undefined : before.loaded, opened.page),
          isLoading: false,
          error: undefined,
        }));
      }, fail);
    },
    [api, id, source, query],
  );
  useEffect(() => {
    load(undefined);
    return query.cancel;
  }, [load, query]);
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

/**
 * Keeps the position of the reader while parts of a document are loaded, and the focus in the document. `content` is the
 * element of the document. Its parent scrolls.
 */
export function useReadingPosition(content: RefObject<HTMLElement | null>, loaded: LoadedText | undefined): void {
  const before = useRef({ loaded, height: 0 });
  useLayoutEffect(() => {
    const scroller = content.current?.parentElement;
    if (!scroller) return;
    const { loaded: old, height } = before.current;
    before.current = { loaded, height: scroller.scrollHeight };
    if (old === undefined || loaded === undefined || old === loaded) return;
    const isEarlier = loaded.from < old.from;
    const isJoined = isEarlier
      ? loaded.from + loaded.parts.length === old.from + old.parts.length
      : loaded.from === old.from;
    if (isEarlier) scroller.scrollTop += isJoined ? scroller.scrollHeight - height : scroller.scrollHeight;
    else if (!isJoined) scroller.scrollTop = 0;
    // The button that was pressed is gone if there is nothing more to load.
    if (document.activeElement === document.body) content.current?.focus({ preventScroll: true });
  }, [content, loaded]);
}
