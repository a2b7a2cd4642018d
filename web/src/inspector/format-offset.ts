/** Formats times with milliseconds. */
import { formatDuration, type UiLanguage } from "../../../src/react/page-parts.ts";

/** Formats the time of a frame since the run started. */
export function formatOffset(ms: number, language: UiLanguage): string {
  return `${(ms / 1000).toFixed(3)} ${language === "zh" ? "秒" : "s"}`;
}

/** Formats a duration. */
export function formatSpan(ms: number, language: UiLanguage): string {
  return ms < 1000 ? `${Math.round(ms)} ${language === "zh" ? "毫秒" : "ms"}` : formatDuration(ms, language);
}
