/**
 * Names under a chart lie where all of them have room, and lean where not. Vega-Lite stands them on end, which nobody
 * likes to read. What a specification says of it itself stays.
 */
import { isJsonObject, type Json, type JsonObject } from "loom-agent/protocol";

const LETTER_PX = 7;
/** Signs of East Asia are as wide as they are high. */
const SIGN_PX = 12;
const GAP_PX = 10;
const LEANING_PX = 16;
/** More than these cannot lie anyway. */
const MAX_LABELS = 200;
/** What stands to the left of the chart. */
const AXIS_PX = 48;

export function leanLabels(specification: JsonObject, width: number): JsonObject {
  const rows = readRows(specification);
  const lean = (view: JsonObject): JsonObject => {
    const encoding = view["encoding"];
    const x = isJsonObject(encoding) ? encoding["x"] : undefined;
    const layers = view["layer"];
    const leant = isJsonObject(x) ? judgeLabels(x, rows, width - AXIS_PX) : undefined;
    const leaning = {
      ...view,
      ...(Array.isArray(layers)
        ? { layer: (layers as readonly Json[]).map((layer) => (isJsonObject(layer) ? lean(layer) : layer)) }
        : {}),
    };
    if (leant === undefined || !isJsonObject(encoding) || !isJsonObject(x)) return leaning;
    const axis = isJsonObject(x["axis"]) ? x["axis"] : {};
    return { ...leaning, encoding: { ...encoding, x: { ...x, axis: { ...leant, ...axis } } } };
  };
  return rows === undefined ? specification : lean(specification);
}

function readRows({ data }: JsonObject & { readonly data?: Json }): readonly Json[] | undefined {
  const values = isJsonObject(data) ? data["values"] : undefined;
  return Array.isArray(values) ? (values as readonly Json[]) : undefined;
}

/** Undefined where it is no axis of names, or one that says so itself. */
function judgeLabels(x: JsonObject, rows: readonly Json[] | undefined, room: number): JsonObject | undefined {
  const { field, type, axis, bin, timeUnit, aggregate } = x as { readonly [name: string]: Json | undefined };
  if (typeof field !== "string" || axis === null || [bin, timeUnit, aggregate].some((value) => value !== undefined))
    return undefined;
  const labels = new Set<string>();
  for (const row of rows ?? []) {
    const label = isJsonObject(row) ? row[field] : undefined;
    if (type === undefined && typeof label !== "string") return undefined;
    if (typeof label === "string" || typeof label === "number") labels.add(String(label));
    if (labels.size > MAX_LABELS) break;
  }
  if (type !== undefined && type !== "ordinal" && type !== "nominal") return undefined;
  const widest = Math.max(0, ...[...labels].map(measure));
  if (labels.size * (widest + GAP_PX) <= room) return { labelAngle: 0 };
  // Leaning ones are as far apart as they are high.
  return { labelAngle: -45, labelOverlap: labels.size * LEANING_PX > room };
}

function measure(text: string): number {
  const signs = text.match(/[\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60]/g)?.length ?? 0;
  return signs * SIGN_PX + (text.length - signs) * LETTER_PX;
}
