/** Signs that something goes on, how far it is, and short marks. */
import type { ReactNode } from "react";

/** Says nothing aloud: whoever shows it says what is being waited for. */
export function Spinner(): ReactNode {
  return <span className="loom-spinner" aria-hidden="true" />;
}

export interface ProgressBarProps {
  /** 0 to 100; undefined where nobody knows. */
  readonly value: number | undefined;
  readonly label: string;
}

export function ProgressBar({ value, label }: ProgressBarProps): ReactNode {
  return <progress className="loom-progress" max={100} value={value} aria-label={label} />;
}

export type Tone = "plain" | "good" | "warn" | "bad" | "busy";

export function Badge({ tone = "plain", children }: { readonly tone?: Tone; readonly children: ReactNode }): ReactNode {
  return <span className={`loom-badge loom-badge-${tone}`}>{children}</span>;
}
