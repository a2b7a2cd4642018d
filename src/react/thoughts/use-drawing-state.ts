/**
 * Open state and selection of a drawing. A drawing is open while its run is live or as the user left it; a reveal
 * request opens it.
 */
import { type RefObject, useRef, useState } from "react";
import { useCachedState } from "../ui/ui-state-cache.tsx";
import { useRevealRequest } from "./use-reveal-request.ts";

export interface DrawingSelection {
  readonly id: string;
  /** Selected with the keyboard: the details take the focus. */
  readonly byKeyboard: boolean;
}

export interface DrawingState {
  readonly element: RefObject<HTMLElement | null>;
  readonly isOpen: boolean;
  readonly setOpen: (isOpen: boolean) => void;
  readonly selected: DrawingSelection | undefined;
  readonly select: (selected: DrawingSelection | undefined) => void;
}

export function useDrawingState(turnKey: string, kind: "thought" | "graph-node", isLive: boolean): DrawingState {
  const element = useRef<HTMLElement>(null);
  const [choice, setChoice] = useCachedState<boolean | undefined>(`${turnKey}/${kind}/open`, undefined);
  // A drawing that was open while live stays open at the end of the run.
  const [wasLive] = useState(isLive);
  const [selected, select] = useState<DrawingSelection>();
  useRevealRequest(element, kind, (id) => {
    setChoice(true);
    select({ id, byKeyboard: false });
  });
  return { element, isOpen: choice ?? wasLive, setOpen: setChoice, selected, select };
}
