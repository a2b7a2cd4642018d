/** Formats numbers, times, durations and byte sizes in the UI language. */
import type { UiLanguage } from "./ui-context.tsx";

const LOCALES: { readonly [L in UiLanguage]: string } = { en: "en", zh: "zh-CN" };

/** Formats a number with digit grouping. */
export function formatNumber(value: number, language: UiLanguage): string {
  return new Intl.NumberFormat(LOCALES[language]).format(value);
}

/** Formats a duration in milliseconds: `under 0.1 s`, `0.4 s`, `12 s`, `3 min`, `3 min 5 s`. */
export function formatDuration(ms: number, language: UiLanguage): string {
  const [seconds, minutes] = language === "zh" ? ["秒", "分"] : ["s", "min"];
  const whole = Math.round(ms / 1000);
  if (ms < 50) return language === "zh" ? "0.1 秒以内" : "under 0.1 s";
  if (ms < 9950) return `${(ms / 1000).toFixed(1)} ${seconds}`;
  if (whole < 60) return `${whole} ${seconds}`;
  const [full, rest] = [Math.floor(whole / 60), whole % 60];
  if (rest === 0) return language === "zh" ? `${full} 分钟` : `${full} min`;
  return `${full} ${minutes} ${rest} ${seconds}`;
}

/** Formats a size in bytes with decimal units: `812 B`, `1.2 kB`, `3.4 MB`. */
export function formatBytes(bytes: number, language: UiLanguage): string {
  const units = ["B", "kB", "MB", "GB"];
  const power = bytes < 1000 ? 0 : Math.min(3, Math.floor(Math.log10(bytes) / 3));
  const value = bytes / 1000 ** power;
  const digits = power === 0 || value >= 100 ? 0 : 1;
  return `${new Intl.NumberFormat(LOCALES[language], { maximumFractionDigits: digits }).format(value)} ${units[power]}`;
}

/** Furthest time from 1970 that a date can have, in milliseconds. */
const MAX_TIME = 8.64e15;

/** Formats a Unix time in milliseconds as date and time in the local time zone. Empty if it is not a date. */
export function formatTime(ms: number, language: UiLanguage): string {
  if (!(Math.abs(ms) <= MAX_TIME)) return "";
  return new Intl.DateTimeFormat(LOCALES[language], { dateStyle: "medium", timeStyle: "short" }).format(ms);
}

/** Like `formatTime`, without the date if it is today. */
export function formatRecentTime(ms: number, language: UiLanguage, now: number = Date.now()): string {
  if (!(Math.abs(ms) <= MAX_TIME) || new Date(ms).toDateString() !== new Date(now).toDateString())
    return formatTime(ms, language);
  return new Intl.DateTimeFormat(LOCALES[language], { timeStyle: "short" }).format(ms);
}
