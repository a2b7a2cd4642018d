/**
 * A chart of ours as a Vega-Lite specification. It says what is drawn, not how it looks: colours, fonts and the width are
 * the page's.
 *
 * Invariant: what a column is called never becomes the name of a field, in which Vega-Lite would read paths and brackets.
 */
import type { Json, JsonObject } from "../../protocol/index.ts";
import { readNumber, showCell, type Table, writeCell } from "./read-table.ts";

export const CHART_KINDS = ["bar", "line", "area", "point", "pie"] as const;
export type ChartKind = (typeof CHART_KINDS)[number];

export interface OwnChart {
  readonly kind: ChartKind;
  /** Its first column labels the points; each other one is a series. */
  readonly table: Table;
}

/** Dots on a line help until they touch. */
const MAX_DOTS = 60;
/** Labels longer than this are read beside the bars, not under them. */
const LONG_LABEL = 14;
const MAX_LYING_BARS = 40;
const LYING_BAR_PX = 28;
/** Bars of so few labels would be blocks. */
const FEW_BARS = 6;
/** As the chart tool calls labels of which nobody said what they are. */
const UNNAMED_AXIS = "label";

export function drawOwnChart({ kind, table }: OwnChart): JsonObject {
  const series = nameSeries(table);
  const labels = Array.from({ length: table.rowCount }, (_, row) => table.getCell(row, 0));
  const axis = table.columns[0]?.title ?? "";
  const isAxisNamed = axis !== "" && axis !== UNNAMED_AXIS;
  const isMany = series.length > 1;
  const parts: Parts = {
    labels,
    label: { field: "label", title: isAxisNamed ? axis : null },
    value: { field: "value", type: "quantitative", title: isMany ? null : (series[0] ?? null) },
    series: isMany ? { field: "series", type: "nominal", sort: series, title: null } : undefined,
  };
  const drawn = kind === "pie" ? drawPie(parts) : kind === "bar" ? drawBars(parts) : drawAlong(kind, parts);
  return {
    data: { values: labels.flatMap((label, row) => listPoints(table, row, label, series)) },
    ...drawn,
    encoding: { ...(drawn["encoding"] as JsonObject), description: { field: "said" } },
  };
}

interface Parts {
  readonly labels: readonly Json[];
  readonly label: JsonObject;
  readonly value: JsonObject;
  /** Where there are several. */
  readonly series: JsonObject | undefined;
}

/** Two columns may be called the same; two series may not. */
function nameSeries(table: Table): string[] {
  const names = new Set<string>();
  return table.columns.slice(1).map(({ title }, index) => {
    const name = title === "" || names.has(title) ? `${title} (${index + 1})`.trim() : title;
    names.add(name);
    return name;
  });
}

function listPoints(table: Table, row: number, label: Json, series: readonly string[]): JsonObject[] {
  return series.map((name, index) => {
    const value = readNumber(table.getCell(row, index + 1)) ?? null;
    return { label, series: name, value, said: `${writeCell(label)}; ${name}: ${showCell(value)}` };
  });
}

function drawPie({ label, value }: Parts): JsonObject {
  return {
    // A slice of less than nothing cannot be drawn.
    transform: [{ filter: { field: "value", gt: 0 } }],
    mark: { type: "arc" },
    encoding: { theta: { ...value, stack: true }, color: { ...label, type: "nominal", sort: null } },
  };
}

function drawBars({ labels, label, value, series }: Parts): JsonObject {
  const isLying = labels.length <= MAX_LYING_BARS && labels.some((text) => writeCell(text).length > LONG_LABEL);
  const colour = series === undefined ? {} : { color: series };
  const beside = series === undefined ? {} : { [isLying ? "yOffset" : "xOffset"]: { ...series, sort: null } };
  const mark = { type: "bar" };
  const apart = labels.length <= FEW_BARS ? { scale: { paddingInner: 0.5, paddingOuter: 0.35 } } : {};
  const named = { ...label, type: "ordinal", sort: null };
  if (!isLying) return { mark, encoding: { x: { ...named, ...apart }, y: value, ...beside, ...colour } };
  return { height: { step: LYING_BAR_PX }, mark, encoding: { y: named, x: value, ...beside, ...colour } };
}

function drawAlong(kind: "line" | "area" | "point", { labels, label, value, series }: Parts): JsonObject {
  const dots = labels.length <= MAX_DOTS ? { point: true } : {};
  // Areas in front of each other are seen through.
  const area = { type: "area", line: true, opacity: series === undefined ? 0.6 : 0.35, ...dots };
  const mark = kind === "area" ? area : kind === "line" ? { type: "line", ...dots } : { type: "point", filled: true };
  const colour = series === undefined ? {} : { color: series };
  const y = kind === "area" ? { ...value, stack: null } : value;
  return { mark, encoding: { x: { ...label, ...judgeLabels(labels) }, y, ...colour } };
}

const DAY = /^\d{4}-\d{2}(?:-\d{2})?$/;
const MOMENT = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[-+]\d{2}:?\d{2})?$/;

/** Numbers and times lie on a line; everything else stands in the order it came. */
function judgeLabels(labels: readonly Json[]): JsonObject {
  const given = labels.filter((label) => label !== null);
  const isEach = (test: (label: Json) => boolean): boolean => given.length > 1 && given.every(test);
  if (isEach((label) => typeof label === "number")) {
    const isYear = given.every((label) => Number.isInteger(label) && Number(label) >= 1000 && Number(label) < 3000);
    const axis = isYear ? { axis: { format: "d", tickMinStep: 1 } } : {};
    return { type: "quantitative", scale: { zero: false }, ...axis };
  }
  // A day is the same day wherever one reads of it.
  if (isEach((label) => typeof label === "string" && DAY.test(label)))
    return { type: "temporal", scale: { type: "utc" } };
  if (isEach((label) => typeof label === "string" && MOMENT.test(label))) return { type: "temporal" };
  return { type: "ordinal", sort: null };
}
