/**
 * Takes out of a Vega-Lite specification what the page does not do, whoever wrote it: nothing is fetched, nothing links
 * away, nobody else's look. Rows of data are passed on untouched: only what refers to them could do anything.
 *
 * The specification is judged here for what it says; how long it takes and how much it draws is judged where it is
 * computed.
 */
import { isJsonObject, type Json, type JsonObject } from "loom-agent/protocol";

/** `fetch`: data or images of elsewhere; `link`: addresses to go to; `generate`: more rows made up than are drawn. */
export type LeftOut = "fetch" | "link" | "generate";

export interface HardSpecification {
  readonly specification: JsonObject;
  readonly leftOut: readonly LeftOut[];
  /** Some rows are in it. */
  readonly hasRows: boolean;
}

const REFUSED: ReadonlyMap<string, LeftOut | undefined> = new Map([
  ["url", "fetch"],
  ["href", "link"],
  ["$schema", undefined],
  ["usermeta", undefined],
  ["background", undefined],
  ["config", undefined],
  ["bind", undefined],
]);
const ROWS = new Set(["values", "datasets"]);
const MAX_GENERATED = 10_000;
const MAX_DEPTH = 64;
const MAX_ENTRIES = 20_000;
const MAX_SIZE = 2000;

/** Undefined where it is deeper or has more in it than any chart needs. */
export function hardenSpecification(given: JsonObject): HardSpecification | undefined {
  const leftOut = new Set<LeftOut>();
  let entries = 0;
  let hasRows = false;

  function harden(value: Json, depth: number): Json {
    if (++entries > MAX_ENTRIES || depth > MAX_DEPTH) throw new TooMuch();
    if (Array.isArray(value)) return (value as readonly Json[]).map((item) => harden(item, depth + 1));
    return isJsonObject(value) ? hardenObject(value, depth) : value;
  }

  function hardenObject(value: JsonObject, depth: number): JsonObject {
    const kept: { [name: string]: Json } = {};
    for (const [name, inner] of Object.entries(value)) {
      const why = REFUSED.get(name);
      if (why !== undefined) leftOut.add(why);
      if (REFUSED.has(name) || name === "__proto__") continue;
      hasRows ||= ROWS.has(name) || name === "sequence";
      if (ROWS.has(name)) kept[name] = inner;
      else if (name === "sequence" && countSequence(inner) > MAX_GENERATED) leftOut.add("generate");
      else if ((name === "width" || name === "height") && typeof inner === "number")
        kept[name] = Math.min(MAX_SIZE, Math.max(1, inner));
      // Colours and cursors are places where CSS would fetch.
      else if (typeof inner === "string" && /url\s*\(/i.test(inner)) leftOut.add("fetch");
      else kept[name] = harden(inner, depth + 1);
    }
    return kept;
  }

  try {
    const specification = hardenObject(given, 0);
    return { specification, leftOut: [...leftOut].toSorted(), hasRows };
  } catch (error) {
    if (error instanceof TooMuch) return undefined;
    throw error;
  }
}

class TooMuch extends Error {}

function countSequence(sequence: Json): number {
  if (!isJsonObject(sequence)) return Infinity;
  const { start = 0, stop, step = 1 } = sequence as { readonly [name: string]: Json | undefined };
  if (typeof start !== "number" || typeof stop !== "number" || typeof step !== "number") return Infinity;
  const count = (stop - start) / step;
  return Number.isFinite(count) ? Math.abs(count) : Infinity;
}
