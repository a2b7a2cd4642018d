/** Button that shows the frames an element came from. Renders nothing without `UiActions.inspect`. */
import type { ReactNode } from "react";
import { IconButton } from "../ui/button.tsx";
import { type ElementTarget, useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";

const WORDS = defineWords({ en: { inspect: "Show frames" }, zh: { inspect: "查看数据帧" } });

export function InspectButton({ target }: { readonly target: ElementTarget }): ReactNode {
  const words = useWords(WORDS);
  const { actions } = useUi();
  if (actions.inspect === undefined) return null;
  return (
    <span className="loom-inspect">
      <IconButton icon="inspect" label={words.inspect} onClick={() => actions.inspect?.(target)} />
    </span>
  );
}
