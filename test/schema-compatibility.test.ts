/** The schemas are compatible with the last release: they may only grow. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { findBreaks } from "./schema-breaks.ts";

const SPEC = join(import.meta.dirname, "..", "spec");
const read = (folder: string, file: string) => JSON.parse(readFileSync(join(SPEC, folder, file), "utf8")) as object;

describe("schemas", () => {
  test.each(readdirSync(join(SPEC, "released")))("%s is compatible with its released version", (file) => {
    expect(findBreaks(read("released", file), read("schema", file))).toEqual([]);
  });

  test("every dialect has a released schema", () => {
    expect(readdirSync(join(SPEC, "released")).sort()).toEqual(readdirSync(join(SPEC, "schema")).sort());
  });
});

describe("findBreaks", () => {
  const before = {
    $defs: {
      tool_end: {
        type: "object",
        properties: {
          type: { const: "tool_end" },
          result: { type: "string" },
          count: { type: "integer", minimum: 0 },
          status: { type: "string", enum: ["a", "b"] },
          list: { type: "array", items: { type: "string" } },
        },
        required: ["type", "result"],
      },
    },
  };
  type Shape = { properties: Record<string, object>; required: string[] };
  const changed = (change: (shape: Shape) => void) => {
    const copy = structuredClone(before);
    change(copy.$defs.tool_end);
    return findBreaks(before, copy);
  };

  test("allows additions", () => {
    expect(changed((shape) => (shape.properties["extra"] = { type: "string" }))).toEqual([]);
    expect(changed((shape) => (shape.properties["status"] = { type: "string", enum: ["a", "b", "c"] }))).toEqual([]);
    expect(findBreaks(before, { $defs: { ...before.$defs, other: {} } })).toEqual([]);
  });

  test.each<[string, (shape: Shape) => void]>([
    ["tool_end.result was removed", (shape) => delete shape.properties["result"]],
    ["tool_end.result: type was", (shape) => (shape.properties["result"] = { type: "number" })],
    ["tool_end.type: was", (shape) => (shape.properties["type"] = { const: "tool_done" })],
    ["tool_end.result: was required", (shape) => (shape.required = ["type"])],
    ["tool_end.count: was optional", (shape) => shape.required.push("count")],
    ['tool_end.status: "b" is no longer', (shape) => (shape.properties["status"] = { type: "string", enum: ["a"] })],
    ["tool_end.count: minimum was raised", (shape) => (shape.properties["count"] = { type: "integer", minimum: 1 })],
    [
      "tool_end.count: maximum was lowered",
      (shape) => (shape.properties["count"] = { type: "integer", minimum: 0, maximum: 9 }),
    ],
    [
      "tool_end.result: values are now restricted",
      (shape) => (shape.properties["result"] = { type: "string", enum: ["x"] }),
    ],
    ["tool_end.list[]: type was", (shape) => (shape.properties["list"] = { type: "array", items: { type: "number" } })],
    [
      "tool_end: fresh is new and required",
      (shape) => {
        shape.properties["fresh"] = { type: "string" };
        shape.required.push("fresh");
      },
    ],
  ])("reports: %s", (expected, change) => {
    const found = changed(change);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(expected);
  });

  test("reports a removed type", () => {
    expect(findBreaks(before, { $defs: {} })).toEqual(["type tool_end was removed"]);
  });
});
