/** What stands before every path, and paths without it. */
import { LoomError } from "../../protocol/index.ts";

/** Without a slash at its end; empty at the root. Throws `invalid_arguments`. */
export function readBasePath(given: string | undefined): string {
  if (given === undefined || given === "" || given === "/") return "";
  const base = given.endsWith("/") ? given.slice(0, -1) : given;
  if (/^(\/[\w.~-]+)+$/.test(base) && !base.split("/").includes("..") && !base.split("/").includes(".")) return base;
  const shown = JSON.stringify(given.slice(0, 60));
  throw new LoomError("invalid_arguments", `\`basePath\` must be a path like "/agents", not ${shown}`);
}

/**
 * A server that mounts us may have taken the base away already, or may not have: a path that does not begin with it is
 * taken as it is.
 */
export function stripBase(path: string, base: string): string {
  if (base === "" || !path.startsWith(base)) return path;
  if (path.length === base.length) return "/";
  return path[base.length] === "/" ? path.slice(base.length) : path;
}
