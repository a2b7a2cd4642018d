/** A formula, by the page's plugin; without one, and while it is being written, its source. */
import { memo, type ReactNode } from "react";
import { useUi } from "../ui/ui-context.tsx";
import { PluginGuard } from "./plugin-guard.tsx";

export interface MathTextProps {
  readonly source: string;
  readonly isBlock: boolean;
  readonly isComplete: boolean;
}

export const MathText = memo(function MathText({ source, isBlock, isComplete }: MathTextProps): ReactNode {
  const { Math } = useUi().plugins;
  const plain = <code className="loom-math-source">{source}</code>;
  const shown =
    Math === undefined || !isComplete ? (
      plain
    ) : (
      <PluginGuard key={source} plain={plain}>
        <Math source={source} isBlock={isBlock} />
      </PluginGuard>
    );
  return <span className={isBlock ? "loom-math loom-math-block" : "loom-math"}>{shown}</span>;
});
