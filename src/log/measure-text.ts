/** Estimates the memory of strings that are kept for other readers. */
import { Buffer } from "node:buffer";

const HEADER_BYTES = 24;

/** Memory of a string in bytes. The engine stores one byte per character if all are Latin-1, otherwise two. */
export function measureText(text: string): number {
  const isNarrow = Buffer.byteLength(text) === text.length;
  return HEADER_BYTES + text.length * (isNarrow ? 1 : 2);
}

/** Copies a text. A substring keeps the text it was cut from in memory. */
export function copyText(text: string): string {
  return ` ${text}`.slice(1);
}
