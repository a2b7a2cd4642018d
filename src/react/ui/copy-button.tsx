/** A button that copies text and briefly confirms it. */
import { type ReactNode, useEffect, useState } from "react";
import { IconButton } from "./button.tsx";
import type { IconName } from "./icon.tsx";
import { defineWords, useWords } from "./words.ts";

const WORDS = defineWords({
  en: { copy: "Copy", copied: "Copied", failed: "Copy failed" },
  zh: { copy: "复制", copied: "已复制", failed: "复制失败" },
});

const FEEDBACK_MS = 1500;

export interface CopyButtonProps {
  /** Called on click. May be asynchronous, so long text is built only when needed. */
  readonly getText: () => string | Promise<string>;
  /** Accessible name and tooltip. Default: "Copy" in the UI language. */
  readonly label?: string;
  /** Default: `copy`. */
  readonly icon?: IconName;
}

/** Copies a text to the clipboard. */
export function CopyButton({ getText, label, icon = "copy" }: CopyButtonProps): ReactNode {
  const words = useWords(WORDS);
  const [state, setState] = useState<"idle" | "copied" | "failed">("idle");
  useEffect(() => {
    if (state === "idle") return undefined;
    const timer = setTimeout(() => setState("idle"), FEEDBACK_MS);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = async (): Promise<void> => {
    try {
      // Pages served over plain HTTP from another host have no clipboard.
      await writeToClipboard(getText());
      setState("copied");
    } catch {
      setState("failed");
    }
  };
  const shownLabel = state === "idle" ? (label ?? words.copy) : words[state];
  return <IconButton icon={state === "copied" ? "check" : icon} label={shownLabel} onClick={() => void copy()} />;
}

/** Some browsers accept only what is written during the click, so asynchronous text is passed as a promise. */
async function writeToClipboard(text: string | Promise<string>): Promise<void> {
  if (typeof text === "string") return navigator.clipboard.writeText(text);
  const blob = text.then((written) => new Blob([written], { type: "text/plain" }));
  return navigator.clipboard.write([new ClipboardItem({ "text/plain": blob })]);
}
