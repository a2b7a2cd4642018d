/** Code plugin. The highlighter is loaded with the first block in a known language. */
import { lazy, type ReactNode } from "react";
import type { CodeProps } from "loom-agent/react";
import { isKnownLanguage } from "./code-languages.ts";

const ColouredCode = lazy(async () => ({ default: (await import("./code-highlight.tsx")).HighlightedCode }));

/** Shows plain code if the language is unknown or the code is incomplete. */
export function CodePlugin({ code, language, isComplete }: CodeProps): ReactNode {
  return isComplete && isKnownLanguage(language) ? <ColouredCode code={code} language={language} /> : code;
}
