/** Copies a text, and says so for a moment. */
import { type ReactNode, useEffect, useState } from "react";
import { IconButton } from "./button.tsx";
import { defineWords, useWords } from "./words.ts";

const WORDS = defineWords({
  en: { copy: "Copy", copied: "Copied", failed: "Copying failed" },
  zh: { copy: "复制", copied: "已复制", failed: "复制失败" },
});

const SHOWN_MS = 1500;

/** `getText` is asked when it is pressed: what is long is not made before. */
export function CopyButton({ getText, label }: { readonly getText: () => string; readonly label?: string }): ReactNode {
  const words = useWords(WORDS);
  const [state, setState] = useState<"idle" | "copied" | "failed">("idle");
  useEffect(() => {
    if (state === "idle") return undefined;
    const timer = setTimeout(() => setState("idle"), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = async (): Promise<void> => {
    try {
      // A page that came by plain HTTP from elsewhere has no clipboard at all.
      await navigator.clipboard.writeText(getText());
      setState("copied");
    } catch {
      setState("failed");
    }
  };
  const said = state === "idle" ? (label ?? words.copy) : words[state];
  return <IconButton icon={state === "copied" ? "check" : "copy"} label={said} onClick={() => void copy()} />;
}
