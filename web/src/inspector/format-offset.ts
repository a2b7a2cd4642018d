/** Times finer than people need elsewhere: a token takes milliseconds. */
import { formatDuration, type Language } from "loom-agent/react";

/** The time of a frame since the run began. */
export function formatOffset(ms: number, language: Language): string {
  return `${(ms / 1000).toFixed(3)} ${language === "zh" ? "秒" : "s"}`;
}

/** How long something took. */
export function formatSpan(ms: number, language: Language): string {
  return ms < 1000 ? `${Math.round(ms)} ${language === "zh" ? "毫秒" : "ms"}` : formatDuration(ms, language);
}
