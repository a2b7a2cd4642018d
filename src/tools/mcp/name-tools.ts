/**
 * Assigns names to the tools of MCP servers that all model providers accept: unique, with at most 64 letters, digits,
 * `_` and `-`. A changed name ends in a hash of the original, so that it stays the same between runs.
 */
import { createHash } from "node:crypto";

const MAX_LENGTH = 64;
const HASH_LENGTH = 8;

/** Assigns unique names. */
export class ToolNames {
  readonly #assigned = new Set<string>();

  assign(server: string, tool: string): string {
    const whole = `${clean(server)}__${clean(tool)}`;
    const isKept = whole === `${server}__${tool}` && whole.length <= MAX_LENGTH && !this.#assigned.has(whole);
    let name = isKept ? whole : addHash(whole, server, tool, 0);
    // Two tools of one server can have the same name.
    for (let copy = 1; this.#assigned.has(name); copy += 1) name = addHash(whole, server, tool, copy);
    this.#assigned.add(name);
    return name;
  }
}

function clean(text: string): string {
  return text.replaceAll(/[^a-zA-Z0-9_-]/g, "_");
}

function addHash(whole: string, server: string, tool: string, copy: number): string {
  const hash = createHash("sha256")
    .update(JSON.stringify([server, tool, copy]))
    .digest("hex");
  return `${whole.slice(0, MAX_LENGTH - HASH_LENGTH - 1)}_${hash.slice(0, HASH_LENGTH)}`;
}
