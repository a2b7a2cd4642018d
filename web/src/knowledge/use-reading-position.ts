/** Keeps the position of the reader while parts of a document are loaded, and the focus in the document. */
import { type RefObject, useLayoutEffect, useRef } from "react";
import type { LoadedText } from "./document-parts.ts";

/** `content` is the element of the document. Its parent scrolls. */
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
