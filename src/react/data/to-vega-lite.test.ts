import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../../protocol/index.ts";
import { describeChart } from "./chart-view.tsx";
import { readChartNumbers, toVegaLite } from "./to-vega-lite.ts";

function draw(mark: string, columns: readonly string[], rows: readonly (readonly Json[])[]): JsonObject {
  const specification = toVegaLite({ mark, columns, rows });
  if (specification === undefined) throw new Error("not drawn");
  return specification;
}

const readX = (specification: JsonObject): unknown => (specification["encoding"] as JsonObject)["x"];
const readValues = (specification: JsonObject): readonly JsonObject[] =>
  (specification["data"] as { readonly values: readonly JsonObject[] }).values;

describe("a Loom chart", () => {
  it("has one value per label and series, with fixed field names", () => {
    const specification = draw(
      "line",
      ["month", "a.b", "c[0]"],
      [
        ["Jan", 1, "2"],
        ["Feb", null, "x"],
      ],
    );
    expect(readValues(specification)).toEqual([
      { label: "Jan", series: "a.b", value: 1, text: "Jan; a.b: 1" },
      { label: "Jan", series: "c[0]", value: 2, text: "Jan; c[0]: 2" },
      { label: "Feb", series: "a.b", value: null, text: "Feb; a.b: " },
      { label: "Feb", series: "c[0]", value: null, text: "Feb; c[0]: " },
    ]);
    expect(specification["encoding"]).toMatchObject({
      x: { field: "label", type: "ordinal", sort: null, title: "month" },
      y: { field: "value", type: "quantitative" },
      color: { field: "series", sort: ["a.b", "c[0]"] },
    });
  });

  it("puts numbers and times on a continuous scale and keeps the order of other labels", () => {
    const along = (...labels: Json[]): unknown =>
      readX(
        draw(
          "line",
          ["x", "y"],
          labels.map((label) => [label, 1]),
        ),
      );
    expect(along(1.5, 7)).toMatchObject({ type: "quantitative" });
    expect(along(2023, 2024)).toMatchObject({ type: "quantitative", axis: { format: "d" } });
    expect(along("2024-01-31", "2024-02-01")).toMatchObject({ type: "temporal", scale: { type: "utc" } });
    expect(along("2024-01-31T10:00:00Z", "2024-02-01 09:30")).toEqual({ field: "label", title: "x", type: "temporal" });
    expect(along("Q1", "Q2")).toMatchObject({ type: "ordinal", sort: null });
    expect(along("2024", 2025)).toMatchObject({ type: "ordinal" });
  });

  it("uses horizontal bars for long labels and groups series", () => {
    const short = draw("bar", ["x", "y", "z"], [["a", 1, 2]]);
    expect(short["encoding"]).toMatchObject({ x: { field: "label" }, xOffset: { field: "series" } });
    const long = draw("bar", ["x", "y"], [["a name that is long", 1]]);
    expect(long["encoding"]).toMatchObject({ y: { field: "label" }, x: { field: "value" } });
  });

  it("distinguishes series with equal or empty titles", () => {
    const specification = draw("bar", ["x", "y", "y"], [["a", 1, 2, 3]]);
    expect(readValues(specification).map(({ series }) => series)).toEqual(["y", "y (2)", "(3)"]);
  });

  it("draws unknown marks as bars", () => {
    expect(draw("radar", ["x", "y"], [["a", 1]])["mark"]).toEqual({ type: "bar" });
  });
});

describe("other charts", () => {
  it("passes Vega-Lite through without its title", () => {
    const specification = { mark: "bar", data: { values: [{ a: 1 }] }, encoding: {} };
    expect(toVegaLite({ ...specification, title: "T", name: "n" })).toEqual(specification);
    expect(toVegaLite({ layer: [] })).toEqual({ layer: [] });
  });

  it("returns undefined for anything else", () => {
    expect(toVegaLite({})).toBeUndefined();
    expect(toVegaLite({ columns: ["only labels"], rows: [["a"]] })).toBeUndefined();
    expect(toVegaLite({ $schema: "https://vega.github.io/schema/vega/v6.json", marks: [], layer: [] })).toBeUndefined();
  });
});

describe("describeChart", () => {
  it("describes a Loom chart", () => {
    const rows = [
      ["a", 1, null],
      ["b", -2, 5],
    ];
    expect(describeChart({ mark: "pie", columns: ["x", "y", "z"], rows })).toEqual({
      kind: "pie",
      points: 2,
      series: [
        { name: "y", min: -2, max: 1 },
        { name: "z", min: 5, max: 5 },
      ],
    });
  });

  it("describes a specification with inline values", () => {
    const values = [
      { a: "x", b: 3 },
      { a: "y", b: 4 },
    ];
    const expected = { kind: "line", points: 2, series: [{ name: "b", min: 3, max: 4 }] };
    expect(describeChart({ mark: { type: "line" }, data: { values } })).toEqual(expected);
    expect(describeChart({ mark: "line", data: { name: "d" }, datasets: { c: [], d: values } })).toEqual(expected);
    expect(describeChart({ layer: [{ mark: "bar" }, { data: { values } }] })).toEqual({ ...expected, kind: undefined });
    expect(describeChart({ mark: "bar", data: { url: "x" } })).toEqual({ kind: "bar", points: 0, series: [] });
  });

  it("returns the data as a table", () => {
    expect(readChartNumbers({ mark: "bar", data: { values: [1, 2] } })).toEqual({ rows: [1, 2] });
    expect(readChartNumbers({ mark: "bar", data: { url: "x" } })).toBeUndefined();
  });
});
