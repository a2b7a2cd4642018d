/**
 * Removes unsafe parts of a Vega-Lite specification: external loads, links and styles. Data rows are passed through,
 * because only encodings that refer to them have an effect.
 *
 * Time and number of elements are limited where the chart is computed.
 */
import type { Json, JsonObject } from "loom-agent/protocol";
import { isJsonObject } from "../../../../src/protocol/json.ts";

/** `fetch`: external data or images; `link`: links; `generate`: too many generated rows. */
export type OmittedPart = "fetch" | "link" | "generate";

export interface HardenedSpecification {
  readonly specification: JsonObject;
  readonly omitted: readonly OmittedPart[];
  /** The specification contains data. */
  readonly hasRows: boolean;
}

const REFUSED: ReadonlyMap<string, OmittedPart | undefined> = new Map([
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

/** Returns undefined if the specification is too deep or too large. */
export function hardenSpecification(given: JsonObject): HardenedSpecification | undefined {
  const omitted = new Set<OmittedPart>();
  let entries = 0;
  let hasRows = false;

  function harden(value: Json, depth: number): Json {
    if (++entries > MAX_ENTRIES || depth > MAX_DEPTH) throw new SpecificationTooLarge();
    if (Array.isArray(value)) return (value as readonly Json[]).map((item) => harden(item, depth + 1));
    return isJsonObject(value) ? hardenObject(value, depth) : value;
  }

  function hardenObject(value: JsonObject, depth: number): JsonObject {
    const kept: { [name: string]: Json } = {};
    for (const [name, inner] of Object.entries(value)) {
      const why = REFUSED.get(name);
      if (why !== undefined) omitted.add(why);
      if (REFUSED.has(name) || name === "__proto__") continue;
      hasRows ||= ROWS.has(name) || name === "sequence";
      if (ROWS.has(name)) kept[name] = inner;
      else if (name === "sequence" && countSequence(inner) > MAX_GENERATED) omitted.add("generate");
      else if ((name === "width" || name === "height") && typeof inner === "number")
        kept[name] = Math.min(MAX_SIZE, Math.max(1, inner));
      // CSS loads URLs in colors and cursors.
      else if (typeof inner === "string" && /url\s*\(/i.test(inner)) omitted.add("fetch");
      else kept[name] = harden(inner, depth + 1);
    }
    return kept;
  }

  try {
    const specification = hardenObject(given, 0);
    return { specification, omitted: [...omitted].toSorted(), hasRows };
  } catch (error) {
    if (error instanceof SpecificationTooLarge) return undefined;
    throw error;
  }
}

class SpecificationTooLarge extends Error {}

function countSequence(sequence: Json): number {
  if (!isJsonObject(sequence)) return Infinity;
  const { start = 0, stop, step = 1 } = sequence as { readonly [name: string]: Json | undefined };
  if (typeof start !== "number" || typeof stop !== "number" || typeof step !== "number") return Infinity;
  const count = (stop - start) / step;
  return Number.isFinite(count) ? Math.abs(count) : Infinity;
}
