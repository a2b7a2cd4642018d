/**
 * IDs that contain what they name, so that a server finds it without an index and keeps nothing about a response. To
 * clients they are opaque, and fit into a URL. An ID gives no permission: what it names is authorized like any other
 * request.
 */
import { parseJson } from "../protocol/json.ts";

/**
 * Longer texts are not IDs of ours. A name of 256 characters takes at most 2048 of these: 6 bytes per character in JSON
 * (`\u0001`), and base64 adds a third.
 */
const MAX_LENGTH = 8192;

/** `prefix` says what kind of ID it is. The value is an object or list; members of an object that are undefined are left out. */
export function formatOpaqueId(prefix: string, value: object): string {
  // Also runs in a browser, which has no Buffer.
  const bytes = new TextEncoder().encode(JSON.stringify(value));
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return `${prefix}${text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
}

/** Returns the value in an ID with this prefix; undefined for any other text. Anyone can make an ID: check the value. */
export function parseOpaqueId(prefix: string, id: unknown): unknown {
  if (typeof id !== "string" || id.length > MAX_LENGTH || !id.startsWith(prefix)) return undefined;
  try {
    const text = atob(id.slice(prefix.length).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
    return parseJson(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}
