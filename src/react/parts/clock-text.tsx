/** A countdown, which re-renders once a second without its parent, and the format of whole seconds. */
import type { ReactNode } from "react";
import { formatDuration } from "../ui/format.ts";
import { useUi } from "../ui/ui-context.tsx";
import { useNow } from "../ui/use-now.ts";
import { defineWords, useWords } from "../ui/words.ts";

const WORDS = defineWords({
  en: { seconds: (count: number) => `${count} s` },
  zh: { seconds: (count: number) => `${count} 秒` },
});

const TICK_MS = 1000;
/** Larger differences come from clocks that disagree and are not shown. */
const MAX_MS = 86_400_000;

export interface CountdownProps {
  readonly until: number;
  /** Formats the remaining time. */
  readonly formatLeft: (left: string) => string;
  readonly expiredText: string;
}

export function Countdown({ until, formatLeft, expiredText }: CountdownProps): ReactNode {
  const format = useSecondsFormat();
  const ms = until - useNow();
  if (ms > MAX_MS) return null;
  return (
    <span className="loom-clock" role="timer">
      {ms > 0 ? formatLeft(format(Math.ceil(ms / TICK_MS))) : expiredText}
    </span>
  );
}

/** Formats whole seconds, without the tenths that `formatDuration` shows below ten seconds. */
export function useSecondsFormat(): (seconds: number) => string {
  const words = useWords(WORDS);
  const { language } = useUi();
  return (seconds) => (seconds < 10 ? words.seconds(seconds) : formatDuration(seconds * TICK_MS, language));
}
