/** Math plugin. The renderer is loaded with the first formula. */
import { lazy, type ReactNode } from "react";
import type { MathProps } from "loom-agent/react";

const Formula = lazy(async () => ({ default: (await import("./math-formula.tsx")).Formula }));

export function MathPlugin(props: MathProps): ReactNode {
  return <Formula {...props} />;
}
