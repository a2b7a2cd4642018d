import { describe, expect, it } from "vitest";
import type { JsonObject } from "loom-agent/protocol";
import { rotateLabels } from "./rotate-labels.ts";

const makeRows = (names: readonly string[]): JsonObject => ({ values: names.map((name) => ({ name })) });
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

const findAxis = (names: readonly string[], width: number, x: JsonObject = { field: "name" }): unknown =>
  (rotateLabels({ data: makeRows(names), encoding: { x } }, width) as { encoding: { x: { axis?: unknown } } }).encoding
    .x.axis;

describe("category labels", () => {
  it("are horizontal if they fit, and rotated otherwise", () => {
    expect(findAxis(MONTHS, 700)).toEqual({ labelAngle: 0 });
    expect(findAxis(MONTHS, 360)).toEqual({ labelAngle: -45, labelOverlap: false });
    expect(findAxis(["一月的降雨量", "二月的降雨量", "三月的降雨量"], 260)).toMatchObject({ labelAngle: -45 });
    const many = Array.from({ length: 500 }, (_, index) => `name ${index}`);
    expect(findAxis(many, 700)).toEqual({ labelAngle: -45, labelOverlap: true });
  });

  it("keep the angle of the specification", () => {
    expect(findAxis(MONTHS, 700, { field: "name", axis: { labelAngle: 90 } })).toEqual({ labelAngle: 90 });
    expect(findAxis(MONTHS, 700, { field: "name", axis: null })).toBeNull();
  });

  it("are ignored on numeric and time axes", () => {
    for (const x of [{ field: "name", type: "temporal" }, { field: "name", bin: true }, { aggregate: "count" }])
      expect(findAxis(MONTHS, 700, x)).toBeUndefined();
    const data = { values: [{ n: 1 }] };
    expect(rotateLabels({ data, encoding: { x: { field: "n" } } }, 700)).toEqual({
      data,
      encoding: { x: { field: "n" } },
    });
  });

  it("are found in layers", () => {
    const layer = [{ mark: "bar", encoding: { x: { field: "name" } } }, { mark: "rule" }];
    expect(rotateLabels({ data: makeRows(MONTHS), layer }, 700)["layer"]).toEqual([
      { mark: "bar", encoding: { x: { field: "name", axis: { labelAngle: 0 } } } },
      { mark: "rule" },
    ]);
  });
});
