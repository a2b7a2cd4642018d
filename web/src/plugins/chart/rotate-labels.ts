/**
 * Chooses the angle of the category labels: horizontal if they fit, otherwise 45°. The default of Vega-Lite is
 * vertical, which is hard to read. Angles in the specification take precedence.
 */
import type { Json, JsonObject } from "loom-agent/protocol";
import { isJsonObject } from "../../../../src/protocol/json.ts";

const LETTER_PX = 7;
/** East Asian characters are about as wide as high. */
const CJK_PX = 12;
const GAP_PX = 10;
const ROTATED_PX = 16;
/** More labels never fit horizontally. */
const MAX_LABELS = 200;
/** Width of the y-axis. */
const AXIS_PX = 48;

export function rotateLabels(specification: JsonObject, width: number): JsonObject {
  const rows = readRows(specification);
  const rotate = (view: JsonObject): JsonObject => {
    const encoding = view["encoding"];
    const x = isJsonObject(encoding) ? encoding["x"] : undefined;
    const layers = view["layer"];
    const angle = isJsonObject(x) ? chooseLabelAngle(x, rows, width - AXIS_PX) : undefined;
    const rotated = {
      ...view,
      ...(Array.isArray(layers)
        ? { layer: (layers as readonly Json[]).map((layer) => (isJsonObject(layer) ? rotate(layer) : layer)) }
        : {}),
    };
    if (angle === undefined || !isJsonObject(encoding) || !isJsonObject(x)) return rotated;
    const axis = isJsonObject(x["axis"]) ? x["axis"] : {};
    return { ...rotated, encoding: { ...encoding, x: { ...x, axis: { ...angle, ...axis } } } };
  };
  return rows === undefined ? specification : rotate(specification);
}

function readRows({ data }: JsonObject & { readonly data?: Json }): readonly Json[] | undefined {
  const values = isJsonObject(data) ? data["values"] : undefined;
  return Array.isArray(values) ? (values as readonly Json[]) : undefined;
}

/** Width that the category labels need if they are rotated, in pixels; 0 if there are none. */
export function measureCategories(specification: JsonObject): number {
  const { encoding } = specification as { readonly encoding?: Json };
  const x = isJsonObject(encoding) ? encoding["x"] : undefined;
  const labels = isJsonObject(x) ? listLabels(x, readRows(specification)) : undefined;
  return labels === undefined ? 0 : labels.size * ROTATED_PX + AXIS_PX;
}

/** Returns undefined if the axis has no category labels. */
function chooseLabelAngle(x: JsonObject, rows: readonly Json[] | undefined, available: number): JsonObject | undefined {
  const labels = listLabels(x, rows);
  if (labels === undefined) return undefined;
  const widest = Math.max(0, ...[...labels].map(estimateWidth));
  if (labels.size * (widest + GAP_PX) <= available) return { labelAngle: 0 };
  // Rotated labels need their line height.
  return { labelAngle: -45, labelOverlap: labels.size * ROTATED_PX > available };
}

function listLabels(x: JsonObject, rows: readonly Json[] | undefined): ReadonlySet<string> | undefined {
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
  return type !== undefined && type !== "ordinal" && type !== "nominal" ? undefined : labels;
}

/** Width of a text in the font of charts, in pixels. */
export function estimateWidth(text: string): number {
  const cjk = text.match(/[\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60]/g)?.length ?? 0;
  return cjk * CJK_PX + (text.length - cjk) * LETTER_PX;
}
