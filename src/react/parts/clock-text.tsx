/** Times that pass: since something began, and until something runs out. A second renders these few letters and no more. */
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
/** Clocks of two machines differ; what seems to have begun before yesterday is not told. */
const MAX_MS = 86_400_000;

/** Nothing in the first second, and where the clocks cannot agree. */
export function Elapsed({ since }: { readonly since: number }): ReactNode {
  const tell = useSeconds();
  const ms = useNow() - since;
  if (ms < TICK_MS || ms > MAX_MS) return null;
  return <span className="loom-clock">{tell(Math.floor(ms / TICK_MS))}</span>;
}

export interface CountdownProps {
  readonly until: number;
  /** Makes the sentence of what is left. */
  readonly say: (left: string) => string;
  readonly over: string;
}

export function Countdown({ until, say, over }: CountdownProps): ReactNode {
  const tell = useSeconds();
  const ms = until - useNow();
  // What is further away than that is no time anybody waits for.
  if (ms > MAX_MS) return null;
  return (
    <span className="loom-clock" role="timer">
      {ms > 0 ? say(tell(Math.ceil(ms / TICK_MS))) : over}
    </span>
  );
}

/** Durations below ten seconds are told in tenths, which a clock of seconds has not. */
export function useSeconds(): (seconds: number) => string {
  const words = useWords(WORDS);
  const { language } = useUi();
  return (seconds) => (seconds < 10 ? words.seconds(seconds) : formatDuration(seconds * TICK_MS, language));
}
