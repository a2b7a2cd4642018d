/** Throttles updates of a growing text: the longer the text, the larger the steps. */
import { useState } from "react";
import { isUpdateDue } from "./fold-text.ts";

/** Returns the text as of its last step, and the full text once it stops growing. */
export function useThrottledText(text: string, isGrowing: boolean): string {
  const [shown, setShown] = useState(text);
  if (isGrowing ? !isUpdateDue(shown.length, text.length) : shown === text) return shown;
  setShown(text);
  return text;
}
