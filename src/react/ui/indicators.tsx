/** Spinner, progress bar and badge. */
import type { ReactNode } from "react";

/** Shows that work is pending. Hidden from screen readers: show text that names the pending work beside it. */
export function Spinner(): ReactNode {
  return <span className="loom-spinner" aria-hidden="true" />;
}

export interface ProgressBarProps {
  /** 0 to 100; undefined shows an indeterminate bar. */
  readonly value: number | undefined;
  /** Accessible name. */
  readonly label: string;
}

/** A progress bar from 0 to 100. */
export function ProgressBar({ value, label }: ProgressBarProps): ReactNode {
  return <progress className="loom-progress" max={100} value={value} aria-label={label} />;
}

/** Colour of a badge by meaning. */
export type BadgeTone = "plain" | "good" | "warn" | "bad" | "busy";

/** A short coloured label. */
export function Badge({
  tone = "plain",
  children,
}: {
  readonly tone?: BadgeTone;
  readonly children: ReactNode;
}): ReactNode {
  return <span className={`loom-badge loom-badge-${tone}`}>{children}</span>;
}
