/**
 * Open state and selection of a drawing. A drawing is open while its search runs, and folds when the search ends, unless
 * the user has opened or closed it or works in it. A reveal request opens it.
 */
import { type FocusEvent, type RefObject, useCallback, useRef, useState } from "react";
import { useCachedState } from "../ui/ui-state-cache.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { useRevealRequest } from "./use-reveal-request.ts";

export interface SelectedItem {
  readonly id: string;
  /** Selected with the keyboard: the details take the focus. */
  readonly byKeyboard: boolean;
}

export interface DrawingSelection {
  readonly selected: SelectedItem | undefined;
  readonly select: (selected: SelectedItem | undefined) => void;
}

export interface DrawingState extends DrawingSelection {
  readonly element: RefObject<HTMLElement | null>;
  readonly isOpen: boolean;
  readonly setOpen: (isOpen: boolean) => void;
  /** Keeps the drawing open while the focus is in it. */
  readonly onFocus: (event: FocusEvent) => void;
  /** Shows the frames that a thought or step came from; absent if the page does not offer it. */
  readonly onInspect: ((id: string) => void) | undefined;
}

export function useDrawingState(turnKey: string, kind: "thought" | "graph-node", isSearching: boolean): DrawingState {
  const { actions } = useUi();
  const element = useRef<HTMLElement>(null);
  const [choice, setChoice] = useCachedState<boolean | undefined>(`${turnKey}/${kind}/open`, undefined);
  const [selected, setSelected] = useState<SelectedItem>();
  const latest = useRef(setChoice);
  latest.current = setChoice;
  // Stable, so that the boxes of a drawing do not render with it.
  const select = useCallback((wanted: SelectedItem | undefined) => {
    latest.current(true);
    setSelected(wanted);
  }, []);
  useRevealRequest(element, kind, (id) => select({ id, byKeyboard: false }));
  const onFocus = ({ target }: FocusEvent): void => {
    if (target.closest(".loom-drawing-box, .loom-detail") !== null) setChoice(true);
  };
  const onInspect = actions.inspect && ((key: string) => actions.inspect?.({ turn: turnKey, kind, key }));
  return { element, isOpen: choice ?? isSearching, setOpen: setChoice, onFocus, selected, select, onInspect };
}
