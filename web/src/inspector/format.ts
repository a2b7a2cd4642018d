/** Formats times with milliseconds. */
import type { UiLanguage } from "loom-agent/react";
import { formatBytes, formatDuration } from "../../../src/react/page-parts.ts";

/** Formats the time of a frame since the run started. */
export function formatOffset(ms: number, language: UiLanguage): string {
  return `${(ms / 1000).toFixed(3)} ${language === "zh" ? "秒" : "s"}`;
}

/** Formats a duration. */
export function formatSpan(ms: number, language: UiLanguage): string {
  return ms < 1000 ? `${Math.round(ms)} ${language === "zh" ? "毫秒" : "ms"}` : formatDuration(ms, language);
}

const utf8 = new TextEncoder();

/** Formats the size of a frame in UTF-8 bytes. */
export function formatSize(text: string, language: UiLanguage): string {
  return formatBytes(utf8.encode(text).length, language);
}

/** Formats the request for the stream of a run as a shell command. The token is a variable of the shell. */
interface CurlRequest {
  /** Address of the page. */
  readonly base: string;
  readonly session: string;
  readonly runId: string;
  readonly dialect: string;
}

export function formatCurl({ base, session, runId, dialect }: CurlRequest): string {
  const url = new URL(`./v1/sessions/${encodeURIComponent(session)}/events`, base);
  url.search = new URLSearchParams({ run: runId, dialect, modes: "all" }).toString();
  url.hash = "";
  return [
    `curl --no-buffer ${quote(url.href)}`,
    `-H ${quote("Accept: text/event-stream")}`,
    '-H "Authorization: Bearer $LOOM_TOKEN"',
  ].join(" \\\n  ");
}

/** Single quotes keep everything except themselves. */
function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
