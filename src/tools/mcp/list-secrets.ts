/**
 * What a server is told in confidence: values that no error may repeat to a model or a user.
 */
import { Buffer } from "node:buffer";
import type { McpServerConfig } from "./read-mcp-config.ts";

/** Shorter ones are no secrets, and taking them out would garble every text. */
const SHORTEST = 6;

/** The longest first: one may be a part of another. */
export function listSecrets(config: McpServerConfig): readonly string[] {
  const given = Object.values(("command" in config ? config.env : config.headers) ?? {});
  const words = given.flatMap((value) => [value, ...value.split(/\s+/)]);
  // A user and a password are sent together, and each is a secret of its own.
  const users = given.flatMap((value) =>
    /^basic /i.test(value) ? [Buffer.from(value.slice(6), "base64").toString()] : [],
  );
  words.push(...users.flatMap((user) => [user, ...user.split(":")]));
  const url = "url" in config ? URL.parse(config.url) : null;
  const query = url?.search.slice(1).split("&") ?? [];
  words.push(...query.map((pair) => pair.slice(pair.indexOf("=") + 1)), ...(url?.searchParams.values() ?? []));
  return [...new Set(words)]
    .filter((value) => value.length >= SHORTEST)
    .toSorted((one, other) => other.length - one.length);
}
