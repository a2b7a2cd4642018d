/** The base path of all routes, and its removal from request paths. */
import { LoomError } from "../../protocol/index.ts";

/** Returns the base path without a trailing slash; empty for the root. Throws `invalid_arguments`. */
export function readBasePath(given: string | undefined): string {
  if (given === undefined || given === "" || given === "/") return "";
  const base = given.endsWith("/") ? given.slice(0, -1) : given;
  if (/^(\/[\w.~-]+)+$/.test(base) && !base.split("/").includes("..") && !base.split("/").includes(".")) return base;
  const shown = JSON.stringify(given.slice(0, 60));
  throw new LoomError("invalid_arguments", `\`basePath\` must be a path such as "/agents", not ${shown}`);
}

/** A framework that mounts the handler may have removed the base path already; then the path is returned unchanged. */
export function stripBase(path: string, base: string): string {
  if (base === "" || !path.startsWith(base)) return path;
  if (path.length === base.length) return "/";
  return path[base.length] === "/" ? path.slice(base.length) : path;
}
