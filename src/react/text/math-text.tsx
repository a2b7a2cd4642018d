/** A formula, rendered by the page's plugin. Without one, and while incomplete, the source is shown. */
import { memo, type ReactNode, useState } from "react";
import { useUi } from "../ui/ui-context.tsx";
import { useWords } from "../ui/words.ts";
import { PluginGuard } from "./plugin-guard.tsx";
import { TEXT_WORDS } from "./text-words.ts";

export interface MathTextProps {
  readonly source: string;
  readonly isBlock: boolean;
  readonly isComplete: boolean;
}

export const MathText = memo(function MathText({ source, isBlock, isComplete }: MathTextProps): ReactNode {
  const { Math } = useUi().plugins;
  const words = useWords(TEXT_WORDS);
  const [hasFailed, setFailed] = useState(false);
  const plain = (
    <code className="loom-math-source" title={hasFailed ? words.noFormula : undefined}>
      {source}
    </code>
  );
  const shown =
    Math === undefined || !isComplete ? (
      plain
    ) : (
      <PluginGuard key={source} plain={plain} onFail={() => setFailed(true)}>
        <Math source={source} isBlock={isBlock} />
      </PluginGuard>
    );
  return (
    <span className={isBlock ? "loom-math loom-math-block" : "loom-math"}>
      {shown}
      {isBlock && hasFailed ? <span className="loom-text-failed">{words.noFormula}</span> : null}
    </span>
  );
});
