/** A text that grows, as it stood at its last step: the longer it is, the further its steps lie apart. */
import { useState } from "react";
import { isStepDue } from "./cut-text.ts";

/** What has ended growing is shown whole. */
export function useSteppedText(text: string, isGrowing: boolean): string {
  const [shown, setShown] = useState(text);
  if (isGrowing ? !isStepDue(shown.length, text.length) : shown === text) return shown;
  setShown(text);
  return text;
}
