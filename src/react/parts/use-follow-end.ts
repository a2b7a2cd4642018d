/** A box that scrolls and stays at its end while it grows, until its reader scrolls away from it. */
import { type RefObject, useLayoutEffect, useRef } from "react";

/** Nearer to the end than this is at the end. */
const END_PX = 24;

export interface FollowedBox {
  readonly ref: RefObject<HTMLDivElement | null>;
  readonly onScroll: () => void;
}

/** Called with each rendering: whatever made it render may have made it longer. */
export function useFollowEnd(isFollowing: boolean): FollowedBox {
  const ref = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useLayoutEffect(() => {
    const box = ref.current;
    if (box !== null && isFollowing && isAtEnd.current) box.scrollTop = box.scrollHeight;
  });
  return {
    ref,
    onScroll: () => {
      const box = ref.current;
      if (box !== null) isAtEnd.current = box.scrollHeight - box.scrollTop - box.clientHeight < END_PX;
    },
  };
}
