/** Formats the size of a frame in UTF-8 bytes. */
import { formatBytes, type UiLanguage } from "../../../src/react/page-parts.ts";

const utf8 = new TextEncoder();

export function formatSize(text: string, language: UiLanguage): string {
  return formatBytes(utf8.encode(text).length, language);
}
