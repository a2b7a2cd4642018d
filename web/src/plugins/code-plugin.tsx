/** Colours for code. What knows the languages is loaded with the first block that is in one of them. */
import { lazy, type ReactNode } from "react";
import type { CodeProps } from "loom-agent/react";
import { isKnownLanguage } from "./code-languages.ts";

const ColouredCode = lazy(async () => ({ default: (await import("./code-highlight.tsx")).ColouredCode }));

/** Code in a language nobody here knows, or that is still being written, is shown as it is. */
export function CodePlugin({ code, language, isComplete }: CodeProps): ReactNode {
  return isComplete && isKnownLanguage(language) ? <ColouredCode code={code} language={language} /> : code;
}
