/** Formulas. What draws them is loaded with the first. */
import { lazy, type ReactNode } from "react";
import type { MathProps } from "loom-agent/react";

const Formula = lazy(async () => ({ default: (await import("./math-formula.tsx")).Formula }));

export function MathPlugin(props: MathProps): ReactNode {
  return <Formula {...props} />;
}
