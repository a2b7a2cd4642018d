/** How large a frame is on the wire, in bytes: a Chinese character has three of them. */
import { formatBytes, type Language } from "loom-agent/react";

const utf8 = new TextEncoder();

export function formatSize(text: string, language: Language): string {
  return formatBytes(utf8.encode(text).length, language);
}
