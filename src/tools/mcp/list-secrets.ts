/** Collects the secrets in a server configuration, so that they can be removed from error messages. */
import { Buffer } from "node:buffer";
import type { McpServerConfig } from "./read-mcp-config.ts";

/** Shorter values are unlikely to be secrets, and removing them would garble texts. */
const MIN_SECRET_LENGTH = 6;

/** Returns the secrets, longest first, because one can be part of another. */
export function listSecrets(config: McpServerConfig): readonly string[] {
  const given = Object.values(("command" in config ? config.env : config.headers) ?? {});
  const words = given.flatMap((value) => [value, ...value.split(/\s+/)]);
  // Basic credentials are sent encoded; user name and password are secrets too.
  const users = given.flatMap((value) =>
    /^basic /i.test(value) ? [Buffer.from(value.slice(6), "base64").toString()] : [],
  );
  words.push(...users.flatMap((user) => [user, ...user.split(":")]));
  const url = "url" in config ? URL.parse(config.url) : null;
  const query = url?.search.slice(1).split("&") ?? [];
  words.push(...query.map((pair) => pair.slice(pair.indexOf("=") + 1)), ...(url?.searchParams.values() ?? []));
  return [...new Set(words)]
    .filter((value) => value.length >= MIN_SECRET_LENGTH)
    .toSorted((one, other) => other.length - one.length);
}
