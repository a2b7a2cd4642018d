/**
 * Converts a Loom chart to a Vega-Lite specification. It defines what is drawn; colours, fonts and width come from the
 * page.
 *
 * Invariant: column titles never become field names, where Vega-Lite would interpret dots and brackets.
 */
import type { Json, JsonObject } from "../../protocol/index.ts";
import { readNumber, formatCell, type TableData, cellToText } from "../../protocol/read-table.ts";

export const CHART_KINDS = ["bar", "line", "area", "point", "pie"] as const;
export type ChartKind = (typeof CHART_KINDS)[number];

export interface LoomChart {
  readonly kind: ChartKind;
  /** The first column labels the points; every other column is a series. */
  readonly table: TableData;
}

/** Lines with more points have no dots. */
const MAX_DOTS = 60;
/** Longer labels need horizontal bars. */
const LONG_LABEL = 14;
const MAX_HORIZONTAL_BARS = 40;
const HORIZONTAL_BAR_PX = 28;
/** With fewer labels, bars get extra padding. */
const FEW_BARS = 6;
/** Default axis name of the chart tool; not shown. */
const UNNAMED_AXIS = "label";

export function buildLoomChart({ kind, table }: LoomChart): JsonObject {
  const series = nameSeries(table);
  const labels = Array.from({ length: table.rowCount }, (_, row) => table.getCell(row, 0));
  const axis = table.columns[0]?.title ?? "";
  const isAxisNamed = axis !== "" && axis !== UNNAMED_AXIS;
  const isMany = series.length > 1;
  const parts: ChartParts = {
    labels,
    label: { field: "label", title: isAxisNamed ? axis : null },
    value: { field: "value", type: "quantitative", title: isMany ? null : (series[0] ?? null) },
    series: isMany ? { field: "series", type: "nominal", sort: series, title: null } : undefined,
  };
  const drawn = kind === "pie" ? buildPie(parts) : kind === "bar" ? buildBars(parts) : buildXyChart(kind, parts);
  return {
    data: { values: labels.flatMap((label, row) => listPoints(table, row, label, series)) },
    ...drawn,
    encoding: { ...(drawn["encoding"] as JsonObject), description: { field: "text" } },
  };
}

interface ChartParts {
  readonly labels: readonly Json[];
  readonly label: JsonObject;
  readonly value: JsonObject;
  /** Undefined for a single series. */
  readonly series: JsonObject | undefined;
}

/** Column titles may repeat; series names must be unique. */
function nameSeries(table: TableData): string[] {
  const names = new Set<string>();
  return table.columns.slice(1).map(({ title }, index) => {
    const name = title === "" || names.has(title) ? `${title} (${index + 1})`.trim() : title;
    names.add(name);
    return name;
  });
}

function listPoints(table: TableData, row: number, label: Json, series: readonly string[]): JsonObject[] {
  return series.map((name, index) => {
    const value = readNumber(table.getCell(row, index + 1)) ?? null;
    return { label, series: name, value, text: `${cellToText(label)}; ${name}: ${formatCell(value)}` };
  });
}

function buildPie({ label, value }: ChartParts): JsonObject {
  return {
    // A pie cannot show values of zero or less.
    transform: [{ filter: { field: "value", gt: 0 } }],
    mark: { type: "arc" },
    encoding: { theta: { ...value, stack: true }, color: { ...label, type: "nominal", sort: null } },
  };
}

function buildBars({ labels, label, value, series }: ChartParts): JsonObject {
  const isHorizontal =
    labels.length <= MAX_HORIZONTAL_BARS && labels.some((text) => cellToText(text).length > LONG_LABEL);
  const colour = series === undefined ? {} : { color: series };
  const beside = series === undefined ? {} : { [isHorizontal ? "yOffset" : "xOffset"]: { ...series, sort: null } };
  const mark = { type: "bar" };
  const apart = labels.length <= FEW_BARS ? { scale: { paddingInner: 0.5, paddingOuter: 0.35 } } : {};
  const named = { ...label, type: "ordinal", sort: null };
  if (!isHorizontal) return { mark, encoding: { x: { ...named, ...apart }, y: value, ...beside, ...colour } };
  return { height: { step: HORIZONTAL_BAR_PX }, mark, encoding: { y: named, x: value, ...beside, ...colour } };
}

function buildXyChart(kind: "line" | "area" | "point", { labels, label, value, series }: ChartParts): JsonObject {
  const dots = labels.length <= MAX_DOTS ? { point: true } : {};
  // Overlapping areas are translucent.
  const area = { type: "area", line: true, opacity: series === undefined ? 0.6 : 0.35, ...dots };
  const mark = kind === "area" ? area : kind === "line" ? { type: "line", ...dots } : { type: "point", filled: true };
  const colour = series === undefined ? {} : { color: series };
  const y = kind === "area" ? { ...value, stack: null } : value;
  return { mark, encoding: { x: { ...label, ...chooseLabelScale(labels) }, y, ...colour } };
}

const DAY = /^\d{4}-\d{2}(?:-\d{2})?$/;
const MOMENT = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[-+]\d{2}:?\d{2})?$/;

/** Numbers and dates get a continuous scale; other labels keep their order. */
function chooseLabelScale(labels: readonly Json[]): JsonObject {
  const given = labels.filter((label) => label !== null);
  const isEach = (test: (label: Json) => boolean): boolean => given.length > 1 && given.every(test);
  if (isEach((label) => typeof label === "number")) {
    const isYear = given.every((label) => Number.isInteger(label) && Number(label) >= 1000 && Number(label) < 3000);
    const axis = isYear ? { axis: { format: "d", tickMinStep: 1 } } : {};
    return { type: "quantitative", scale: { zero: false }, ...axis };
  }
  // UTC, so that a date is the same in every time zone.
  if (isEach((label) => typeof label === "string" && DAY.test(label)))
    return { type: "temporal", scale: { type: "utc" } };
  if (isEach((label) => typeof label === "string" && MOMENT.test(label))) return { type: "temporal" };
  return { type: "ordinal", sort: null };
}
