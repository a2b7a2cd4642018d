/**
 * What a model wrote as a path, cut into names. It looks at the text alone and touches no file: what the names lead to
 * is for the workspace to find out, one step at a time.
 */
import { Buffer } from "node:buffer";
import { LoomError } from "../../protocol/index.ts";

const MAX_PATH_BYTES = 4096;
/** What file systems take. */
const MAX_NAME_BYTES = 255;
export const MAX_NAMES = 64;

// oxlint-disable-next-line no-control-regex -- these are what must not be in a name
const UNSEEN = /[\u0000-\u001f\u007f]/;
const WINDOWS_DEVICE = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

/** The names from the workspace's folder down; none for the folder itself. Throws `path_refused`. */
export function parsePath(path: string, roots: readonly string[] = []): string[] {
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) throw refusePath(path, "is too long");
  if (UNSEEN.test(path)) throw refusePath(path, "has a control character in it");
  if (!path.isWellFormed()) throw refusePath(path, "is not well-formed text");
  if (path.includes("\\")) throw refusePath(path, "has a backslash in it: write / between folders");
  const inner = path.startsWith("/") ? cutRoot(path, roots) : path;
  if (inner === undefined) throw refusePath(path, "is absolute: give it relative to the workspace");
  const names = inner.split("/").filter((name) => name !== "" && name !== ".");
  if (names.includes("..")) throw refusePath(path, "has .. in it: give it relative to the workspace");
  if (names.length > MAX_NAMES) throw refusePath(path, `has more than ${MAX_NAMES} folders`);
  for (const name of names) {
    if (Buffer.byteLength(name) > MAX_NAME_BYTES) throw refusePath(path, "has a name in it that is too long");
    if (process.platform === "win32" && (name.includes(":") || WINDOWS_DEVICE.test(name)))
      throw refusePath(path, "has a name in it that means a device");
  }
  return names;
}

/** The rest of an absolute path below one of the roots; undefined where it is below none. */
export function cutRoot(path: string, roots: readonly string[]): string | undefined {
  for (const root of roots) {
    const prefix = root.endsWith("/") ? root : `${root}/`;
    if (path === root) return "";
    if (path.startsWith(prefix)) return path.slice(prefix.length);
  }
  return undefined;
}

export function refusePath(path: string, why: string): LoomError {
  return new LoomError("path_refused", `The path ${quotePath(path)} ${why}.`, { path: shorten(path) });
}

/** A path as a message shows it: one line, and not too long. */
export function quotePath(path: string): string {
  return JSON.stringify(shorten(path));
}

function shorten(path: string): string {
  return path.length > 200 ? `${path.slice(0, 200).toWellFormed()}…` : path.toWellFormed();
}
