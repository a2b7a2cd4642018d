/** The way from something on the page to the frames it was made of; nothing where the page has no such way. */
import type { ReactNode } from "react";
import { IconButton } from "../ui/button.tsx";
import { type ElementPlace, useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";

const WORDS = defineWords({ en: { inspect: "Show its frames" }, zh: { inspect: "查看对应的数据帧" } });

export function InspectButton({ place }: { readonly place: ElementPlace }): ReactNode {
  const words = useWords(WORDS);
  const { actions } = useUi();
  if (actions.inspect === undefined) return null;
  return (
    <span className="loom-inspect">
      <IconButton icon="inspect" label={words.inspect} onClick={() => actions.inspect?.(place)} />
    </span>
  );
}
