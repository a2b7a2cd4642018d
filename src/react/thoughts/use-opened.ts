/**
 * Whether a drawing is open, and what is selected in it. Open while it grows, and as somebody left it; what is asked for
 * from elsewhere opens it.
 */
import { type RefObject, useRef, useState } from "react";
import { useKeptState } from "../ui/kept-state.tsx";
import { useAsked } from "./use-asked.ts";

export interface Selected {
  readonly id: string;
  /** Then the details get the keyboard. */
  readonly byKeyboard: boolean;
}

export interface Opened {
  readonly element: RefObject<HTMLElement | null>;
  readonly isOpen: boolean;
  readonly setOpen: (isOpen: boolean) => void;
  readonly selected: Selected | undefined;
  readonly select: (selected: Selected | undefined) => void;
}

export function useOpened(turnKey: string, kind: "thought" | "graph-node", isLive: boolean): Opened {
  const element = useRef<HTMLElement>(null);
  const [choice, setChoice] = useKeptState<boolean | undefined>(`${turnKey}/${kind}/open`, undefined);
  // What was open while it grew stays open when it is over: nothing closes before one's eyes.
  const [wasLive] = useState(isLive);
  const [selected, select] = useState<Selected>();
  useAsked(element, kind, (id) => {
    setChoice(true);
    select({ id, byKeyboard: false });
  });
  return { element, isOpen: choice ?? wasLive, setOpen: setChoice, selected, select };
}
