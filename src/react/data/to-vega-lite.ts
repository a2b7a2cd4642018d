/**
 * A chart as a Vega-Lite specification with its values inside. Ours has a mark and the columns and rows of a table: the
 * first column labels the points, each other one is a series. A specification that comes as one is passed on without
 * its title, which stands above it; whoever draws it judges what is in it.
 */
import { isJsonObject, type Json, type JsonObject } from "../../protocol/index.ts";
import { CHART_KINDS, drawOwnChart, type OwnChart } from "./draw-own-chart.ts";
import { readTable } from "./read-table.ts";

/** Views that hold others. */
const VIEWS = ["layer", "concat", "hconcat", "vconcat", "facet", "repeat", "spec"];
/** Undefined where it is neither. */
export function toVegaLite(data: JsonObject): JsonObject | undefined {
  const own = readOwnChart(data);
  if (own !== undefined) return drawOwnChart(own);
  if (!isVegaLite(data)) return undefined;
  const { title: _title, name: _name, ...specification } = data;
  return specification;
}

export function readOwnChart(data: JsonObject): OwnChart | undefined {
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

/** The values a specification holds itself, as a table; undefined where it holds none that can be shown so. */
export function readChartNumbers(data: JsonObject): JsonObject | undefined {
  if (readOwnChart(data) !== undefined) return data;
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
