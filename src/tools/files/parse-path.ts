/**
 * Parses a path written by a model into names. It only checks the text; `Workspace` resolves the names step by step.
 */
import { Buffer } from "node:buffer";
import { LoomError } from "../../protocol/index.ts";
import { shorten } from "../../protocol/cut-text.ts";

const MAX_PATH_BYTES = 4096;
/** Limit of common file systems. */
const MAX_NAME_BYTES = 255;
export const MAX_NAMES = 64;

// oxlint-disable-next-line no-control-regex -- names must not contain them
const CONTROL_CHARACTER = /[\u0000-\u001f\u007f]/;
const WINDOWS_DEVICE = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

/**
 * Returns the names from the workspace folder down, or none for the folder itself. Throws `path_refused`. An absolute
 * path is only accepted below one of `roots`.
 */
export function parsePath(path: string, roots: readonly string[] = []): string[] {
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) throw refusePath(path, "is too long");
  if (CONTROL_CHARACTER.test(path)) throw refusePath(path, "contains a control character");
  if (!path.isWellFormed()) throw refusePath(path, "is not well-formed text");
  if (path.includes("\\")) throw refusePath(path, "contains a backslash; separate folders with /");
  const inner = path.startsWith("/") ? stripRoot(path, roots) : path;
  if (inner === undefined) throw refusePath(path, "is absolute; use a path relative to the workspace");
  const names = inner.split("/").filter((name) => name !== "" && name !== ".");
  if (names.includes("..")) throw refusePath(path, "contains ..; use a path relative to the workspace");
  if (names.length > MAX_NAMES) throw refusePath(path, `has more than ${MAX_NAMES} levels`);
  for (const name of names) {
    if (Buffer.byteLength(name) > MAX_NAME_BYTES) throw refusePath(path, "contains a name that is too long");
    if (process.platform === "win32" && (name.includes(":") || WINDOWS_DEVICE.test(name)))
      throw refusePath(path, "contains the name of a device");
  }
  return names;
}

/** Returns the part of an absolute path below one of the roots, or undefined if it is not below any. */
export function stripRoot(path: string, roots: readonly string[]): string | undefined {
  for (const root of roots) {
    const prefix = root.endsWith("/") ? root : `${root}/`;
    if (path === root) return "";
    if (path.startsWith(prefix)) return path.slice(prefix.length);
  }
  return undefined;
}

export function refusePath(path: string, why: string): LoomError {
  return new LoomError("path_refused", `The path ${quotePath(path)} ${why}`, { path: cutPath(path) });
}

/** Quotes a path for a message: on one line, with limited length. */
export function quotePath(path: string): string {
  return JSON.stringify(cutPath(path));
}

function cutPath(path: string): string {
  return shorten(path.toWellFormed(), 200);
}
