/** Copies a text, and says so for a moment. */
import { type ReactNode, useEffect, useState } from "react";
import { IconButton } from "./button.tsx";
import { defineWords, useWords } from "./words.ts";

const WORDS = defineWords({
  en: { copy: "Copy", copied: "Copied", failed: "Copying failed" },
  zh: { copy: "复制", copied: "已复制", failed: "复制失败" },
});

const SHOWN_MS = 1500;

export interface CopyButtonProps {
  /** Asked when it is pressed: what is long is not made before, and may take its time. */
  readonly getText: () => string | Promise<string>;
  readonly label?: string;
}

export function CopyButton({ getText, label }: CopyButtonProps): ReactNode {
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
      await writeToClipboard(getText());
      setState("copied");
    } catch {
      setState("failed");
    }
  };
  const said = state === "idle" ? (label ?? words.copy) : words[state];
  return <IconButton icon={state === "copied" ? "check" : "copy"} label={said} onClick={() => void copy()} />;
}

/** Some browsers take only what is given them while the button is pressed: then the promise of it. */
async function writeToClipboard(text: string | Promise<string>): Promise<void> {
  if (typeof text === "string") return navigator.clipboard.writeText(text);
  const blob = text.then((written) => new Blob([written], { type: "text/plain" }));
  return navigator.clipboard.write([new ClipboardItem({ "text/plain": blob })]);
}
