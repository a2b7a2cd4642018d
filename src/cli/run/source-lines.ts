/** Collects the sources that an answer cites, to list them below it. */
import { BoundedMap } from "../../protocol/bounded-map.ts";
import type { EventOf } from "../../protocol/index.ts";
import { cleanText } from "../fit-text.ts";

const MAX_SOURCES = 1000;
const CITATION = /\[(\d{1,4}(?:[,，、] ?\d{1,4}){0,9})\]/g;
/** A citation may arrive in several pieces. */
const MAX_CITATION = 70;

export class SourceLines {
  readonly #lines = new BoundedMap<string>(MAX_SOURCES);
  readonly #cited = new Set<string>();
  #end = "";

  add({ sources = [] }: EventOf<"retrieval_complete">): void {
    for (const { ref, title, uri, first_line: first, last_line: last = first } of sources) {
      if (ref === undefined || this.#lines.get(String(ref)) !== undefined) continue;
      const lines = first === undefined ? [] : [first === last ? `line ${first}` : `lines ${first} to ${last}`];
      const where = [...(uri === undefined ? [] : [uri]), ...lines].join(", ");
      this.#lines.set(String(ref), cleanText(`[${ref}] ${title}${where === "" ? "" : ` (${where})`}`));
    }
  }

  /** Reads the next piece of the answer. */
  read(text: string): void {
    const all = this.#end + text;
    for (const [, refs = ""] of all.matchAll(CITATION))
      for (const ref of refs.match(/\d+/g) ?? []) this.#cited.add(ref);
    this.#end = all.slice(-MAX_CITATION);
  }

  /** Returns a line for each source that was cited since the last call, in the order of the first citation. */
  take(): readonly string[] {
    const lines = [...this.#cited].flatMap((ref) => this.#lines.get(ref) ?? []);
    this.#cited.clear();
    this.#end = "";
    return lines;
  }
}
