/** Lists the sources that the answer of a turn cites. */
import type { Reference, TurnView } from "../../client/index.ts";

const CITATION = /\[(\d{1,4}(?:[,，、] ?\d{1,4}){0,9})\]/g;

/** Returns a line for each cited source, in the order of the first citation. The lines are not cleaned. */
export function listCitedSources({ messages }: TurnView): readonly string[] {
  const parts = messages.flatMap((message) => message.parts).filter(({ supersededBy }) => supersededBy === undefined);
  const sources = new Map<string, Reference>();
  for (const source of parts.flatMap((part) => (part.type === "references" ? part.sources : []))) {
    const ref = String(source.ref ?? "");
    if (ref !== "" && !sources.has(ref)) sources.set(ref, source);
  }
  if (sources.size === 0) return [];
  const answer = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  const cited = Array.from(answer.matchAll(CITATION), ([, refs = ""]) => refs.match(/\d+/g) ?? []).flat();
  return [...new Set(cited)].flatMap((ref) => describeSource(sources.get(ref)) ?? []);
}

function describeSource(source: Reference | undefined): string | undefined {
  if (source === undefined) return undefined;
  const { ref, title, uri, firstLine: first, lastLine: last = first } = source;
  const lines = first === undefined ? [] : [first === last ? `line ${first}` : `lines ${first} to ${last}`];
  const where = [...(uri === undefined ? [] : [uri]), ...lines].join(", ");
  return `[${ref}] ${title}${where === "" ? "" : ` (${where})`}`;
}
