/**
 * Names for the tools of many servers, as every provider accepts them: at most 64 letters, digits, `_` and `-`, and no
 * two alike. A name that had to be changed ends in a sign of what it was, so that it is the same tomorrow.
 */
import { createHash } from "node:crypto";

const MAX_LENGTH = 64;
const SIGN_LENGTH = 8;

/** Gives names one by one; none twice. */
export class ToolNames {
  readonly #given = new Set<string>();

  give(server: string, tool: string): string {
    const whole = `${clean(server)}__${clean(tool)}`;
    const isKept = whole === `${server}__${tool}` && whole.length <= MAX_LENGTH && !this.#given.has(whole);
    let name = isKept ? whole : sign(whole, server, tool, 0);
    // Two tools of one server may even have the same name.
    for (let copy = 1; this.#given.has(name); copy += 1) name = sign(whole, server, tool, copy);
    this.#given.add(name);
    return name;
  }
}

function clean(text: string): string {
  return text.replaceAll(/[^a-zA-Z0-9_-]/g, "_");
}

function sign(whole: string, server: string, tool: string, copy: number): string {
  const hash = createHash("sha256")
    .update(JSON.stringify([server, tool, copy]))
    .digest("hex");
  return `${whole.slice(0, MAX_LENGTH - SIGN_LENGTH - 1)}_${hash.slice(0, SIGN_LENGTH)}`;
}
