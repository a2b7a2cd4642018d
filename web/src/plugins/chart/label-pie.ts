/**
 * Labels the slices of a pie with their name and share, beside the pie and without overlap. If there are too many slices
 * or too little space, the legend has the shares. Other charts are not changed.
 */
import type { Json, JsonObject } from "loom-agent/protocol";
import { isJsonObject } from "../../../../src/protocol/json.ts";
import { estimateWidth } from "./rotate-labels.ts";

const MAX_LABELS = 8;
/** More slices have a plain legend. */
const MAX_SHARES = 24;
const MAX_NAME = 24;
const MIN_RADIUS = 56;
const LINE_PX = 17;
const MARGIN_PX = 10;
/** From the pie to the text. */
const LEADER_PX = 18;
const FONT_PX = 12;

interface Slice {
  readonly row: JsonObject;
  readonly label: string;
  value: number;
}

/** `width` and `height` are those of the drawing. */
export function labelPie(specification: JsonObject, width: number, height: number): JsonObject {
  const pie = readPie(specification);
  if (pie === undefined) return specification;
  const { slices, theta, name, color, encoding, mark } = pie;
  const total = slices.reduce((sum, { value }) => sum + value, 0);
  const labels = slices.map(({ label, value }) => `${cutName(label)} ${formatShare(value / total)}`);
  const space = Math.max(...labels.map(estimateWidth)) + LEADER_PX + MARGIN_PX;
  const radius = Math.min(height / 2 - MARGIN_PX, width / 2 - space);
  if (slices.length > MAX_LABELS || radius < MIN_RADIUS) {
    // Colors that are assigned to names need the names.
    if (color["scale"] !== undefined || color["legend"] === null) return specification;
    const values = slices.map(({ row, value }, index) => ({ ...row, [name]: labels[index] ?? "", [theta]: value }));
    return { ...specification, data: { values } };
  }
  const values = placeLabels(slices, total, { radius, x: width / 2, y: height / 2 }).map((place, index) => ({
    ...slices[index]?.row,
    [theta]: slices[index]?.value ?? 0,
    ...place,
    loom_label: labels[index] ?? "",
  }));
  const raw = (field: string): JsonObject => ({ field, type: "quantitative", scale: null, stack: null });
  const { theta: _, order: __, ...others } = encoding;
  const inner = typeof mark["innerRadius"] === "number" ? Math.min(mark["innerRadius"], radius * 0.7) : 0;
  const text = (side: string, align: string): JsonObject => ({
    transform: [{ filter: { field: "loom_side", equal: side } }],
    mark: { type: "text", align, baseline: "middle", fontSize: FONT_PX, aria: false },
    encoding: { x: raw("loom_x"), y: raw("loom_y"), text: { field: "loom_label", type: "nominal" } },
  });
  const { mark: _mark, encoding: _encoding, transform: _transform, ...rest } = specification;
  return {
    ...rest,
    data: { values },
    width,
    height,
    autosize: { type: "none" },
    layer: [
      {
        mark: { ...mark, outerRadius: radius, innerRadius: inner },
        encoding: {
          ...others,
          theta: raw("loom_start"),
          theta2: { field: "loom_end" },
          color: { ...color, sort: null, legend: null },
        },
      },
      {
        mark: { type: "rule", aria: false },
        encoding: {
          x: raw("loom_edge_x"),
          y: raw("loom_edge_y"),
          x2: { field: "loom_leader_x" },
          y2: { field: "loom_y" },
        },
      },
      text("right", "left"),
      text("left", "right"),
    ],
  };
}

interface Pie {
  readonly slices: readonly Slice[];
  /** Fields of the values and of the names. */
  readonly theta: string;
  readonly name: string;
  readonly encoding: JsonObject;
  readonly color: JsonObject;
  readonly mark: JsonObject;
}

const KNOWN_CHANNELS = new Set(["theta", "color", "order", "tooltip", "description"]);
const PLAIN_FIELD = /^[^.[\]\\]+$/;

/** Undefined for anything but a plain pie with inline values. */
function readPie(specification: JsonObject): Pie | undefined {
  const { mark: given, encoding, data, transform } = specification as { readonly [name: string]: Json | undefined };
  const mark = typeof given === "string" ? { type: given } : isJsonObject(given) ? given : {};
  if (mark["type"] !== "arc" || !isJsonObject(encoding) || !isJsonObject(data)) return undefined;
  const [theta, color, rows] = [encoding["theta"], encoding["color"], data["values"]];
  if (!isJsonObject(theta) || !isJsonObject(color) || !Array.isArray(rows)) return undefined;
  const [amount, name] = [theta["field"], color["field"]];
  if (typeof amount !== "string" || typeof name !== "string") return undefined;
  const isPlain =
    PLAIN_FIELD.test(amount) &&
    PLAIN_FIELD.test(name) &&
    [undefined, "sum"].includes(theta["aggregate"] as string | undefined) &&
    [undefined, "nominal", "ordinal"].includes(color["type"] as string | undefined) &&
    Object.keys(encoding).every((channel) => KNOWN_CHANNELS.has(channel)) &&
    isPositiveFilter(transform, amount);
  const slices = isPlain ? sumSlices(rows as readonly Json[], amount, name) : [];
  return slices.length === 0 ? undefined : { slices, theta: amount, name, encoding, color, mark };
}

/** The filter of Loom charts; slices of zero or less are left out in any case. */
function isPositiveFilter(transform: Json | undefined, field: string): boolean {
  if (transform === undefined) return true;
  return JSON.stringify(transform) === JSON.stringify([{ filter: { field, gt: 0 } }]);
}

function sumSlices(rows: readonly Json[], amount: string, name: string): readonly Slice[] {
  const slices = new Map<string, Slice>();
  for (const row of rows) {
    const value = isJsonObject(row) ? row[amount] : undefined;
    if (!isJsonObject(row) || typeof value !== "number" || !(value > 0)) continue;
    const label = row[name] ?? "";
    const text = typeof label === "object" ? JSON.stringify(label) : String(label);
    const known = slices.get(text);
    if (known !== undefined) known.value += value;
    else if (slices.size < MAX_SHARES) slices.set(text, { row, label: text, value });
    else return [];
  }
  return [...slices.values()];
}

interface SlicePlace {
  readonly [name: string]: number | string;
}

/** Labels of each side keep their order and a distance of one line. */
function placeLabels(
  slices: readonly Slice[],
  total: number,
  { radius, x, y }: { readonly radius: number; readonly x: number; readonly y: number },
): readonly SlicePlace[] {
  let angle = 0;
  const placed = slices.map(({ value }) => {
    const start = angle;
    angle += (value / total) * 2 * Math.PI;
    const middle = (start + angle) / 2;
    const side = Math.sin(middle) >= 0 ? 1 : -1;
    return { start, end: angle, middle, side, y: y - Math.cos(middle) * radius };
  });
  for (const side of [1, -1]) {
    const column = placed.filter((one) => one.side === side).toSorted((one, other) => one.y - other.y);
    const bottom = 2 * y - LINE_PX / 2;
    for (const [index, one] of column.entries())
      one.y = Math.max(one.y, (column[index - 1]?.y ?? -Infinity) + LINE_PX, LINE_PX / 2);
    for (const [index, one] of column.toReversed().entries())
      one.y = Math.min(one.y, index === 0 ? bottom : (column[column.length - index]?.y ?? bottom) - LINE_PX);
  }
  return placed.map(({ start, end, middle, side, y: labelY }) => ({
    loom_start: start,
    loom_end: end,
    loom_side: side === 1 ? "right" : "left",
    loom_x: x + side * (radius + LEADER_PX),
    loom_y: labelY,
    loom_leader_x: x + side * (radius + LEADER_PX - 4),
    loom_edge_x: x + Math.sin(middle) * (radius + 2),
    loom_edge_y: y - Math.cos(middle) * (radius + 2),
  }));
}

function cutName(name: string): string {
  return name.length > MAX_NAME ? `${name.slice(0, MAX_NAME - 1)}…` : name;
}

function formatShare(share: number): string {
  const percent = share * 100;
  return `${percent > 0 && percent < 1 ? "<1" : Math.round(percent)}%`;
}
