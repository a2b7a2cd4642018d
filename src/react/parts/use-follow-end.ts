/** Keeps a scrolling box at its end while it grows, until the user scrolls away. */
import { type RefObject, useLayoutEffect, useRef } from "react";

/** The box counts as at its end within this distance. */
const END_PX = 24;

export interface FollowedBox {
  readonly ref: RefObject<HTMLDivElement | null>;
  readonly onScroll: () => void;
}

/** Runs after every render, because any render may have added content. */
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
