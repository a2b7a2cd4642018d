/**
 * Converts a chart to a Vega-Lite specification with inline values. A Loom chart has a mark and the columns and rows of
 * a table: the first column labels the points, every other column is a series. A Vega-Lite specification is passed
 * through without its title, which the page shows itself; the renderer must check its content.
 */
import type { Json, JsonObject } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";
import { CHART_KINDS, buildLoomChart, type LoomChart } from "./build-loom-chart.ts";
import { readTable } from "../../protocol/read-table.ts";

/** Vega-Lite properties that contain other views. */
const VIEWS = ["layer", "concat", "hconcat", "vconcat", "facet", "repeat", "spec"];
/** Returns the Vega-Lite specification of a chart, or undefined for an unknown format. */
export function toVegaLite(data: JsonObject): JsonObject | undefined {
  const own = readLoomChart(data);
  if (own !== undefined) return buildLoomChart(own);
  if (!isVegaLite(data)) return undefined;
  const { title: _title, name: _name, ...specification } = data;
  return specification;
}

export function readLoomChart(data: JsonObject): LoomChart | undefined {
  if (!Array.isArray(data["columns"]) || !Array.isArray(data["rows"])) return undefined;
  const mark = data["mark"] ?? data["kind"] ?? data["chart_type"] ?? data["type"];
  const kind = CHART_KINDS.find((known) => known === mark) ?? "bar";
  const table = readTable(data);
  return table === undefined || table.columns.length < 2 ? undefined : { kind, table };
}

function isVegaLite(data: JsonObject): boolean {
  const schema = data["$schema"];
  if (typeof schema === "string" && !schema.includes("vega-lite")) return false;
  return data["mark"] !== undefined || VIEWS.some((view) => data[view] !== undefined);
}

/** Returns the inline values of a chart as a table, or undefined if it has none. */
export function readChartNumbers(data: JsonObject): JsonObject | undefined {
  if (readLoomChart(data) !== undefined) return data;
  const values = findValues(data);
  return values === undefined ? undefined : { rows: values };
}

function findValues(spec: JsonObject): readonly Json[] | undefined {
  const data = spec["data"];
  if (isJsonObject(data) && Array.isArray(data["values"])) return data["values"] as readonly Json[];
  const sets = spec["datasets"];
  const name = isJsonObject(data) ? data["name"] : undefined;
  if (isJsonObject(sets)) {
    const set = typeof name === "string" && Object.hasOwn(sets, name) ? sets[name] : Object.values(sets)[0];
    if (Array.isArray(set)) return set as readonly Json[];
  }
  for (const view of VIEWS) {
    const inner = spec[view];
    const views = Array.isArray(inner) ? (inner as readonly Json[]) : [inner];
    for (const one of views) {
      const found = isJsonObject(one) ? findValues(one) : undefined;
      if (found !== undefined) return found;
    }
  }
  return undefined;
}
