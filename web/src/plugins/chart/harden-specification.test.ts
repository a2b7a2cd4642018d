import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "loom-agent/protocol";
import { hardenSpecification } from "./harden-specification.ts";

const values = [{ a: 1, url: "https://elsewhere.example/i.png", href: "javascript:alert(1)" }];

describe("a hardened specification", () => {
  it("is unchanged if there is nothing to remove", () => {
    const specification = { data: { values }, mark: { type: "bar" }, encoding: { x: { field: "a" } } };
    expect(hardenSpecification(specification)).toEqual({ specification, omitted: [], hasRows: true });
  });

  it("loads nothing", () => {
    const hard = hardenSpecification({
      data: { url: "https://elsewhere.example/d.json" },
      layer: [
        { mark: "image", encoding: { url: { field: "url" } } },
        { mark: { type: "bar", cursor: "url(https://elsewhere.example/c.png), auto", fill: "URL (x.svg#a)" } },
        { data: { url: "d.csv", format: { type: "csv" } }, transform: [{ lookup: "a", from: { data: { url: "x" } } }] },
      ],
    });
    expect(hard?.omitted).toEqual(["fetch"]);
    expect(hard?.hasRows).toBe(false);
    expect(JSON.stringify(hard?.specification)).not.toMatch(/url|elsewhere|d\.csv/i);
  });

  it("has no links and no style", () => {
    const hard = hardenSpecification({
      data: { values },
      mark: { type: "bar", href: "https://elsewhere.example" },
      encoding: { href: { field: "href" } },
      config: { background: "red" },
      background: "red",
      usermeta: {},
    });
    expect(hard).toEqual({
      specification: { data: { values }, mark: { type: "bar" }, encoding: {} },
      omitted: ["link"],
      hasRows: true,
    });
  });

  it("keeps data rows unchanged", () => {
    const hard = hardenSpecification({ datasets: { one: values }, data: { name: "one" }, mark: "bar" });
    expect(hard?.specification["datasets"]).toEqual({ one: values });
    expect(hard?.omitted).toEqual([]);
  });

  it("generates a bounded number of rows", () => {
    const generate = (sequence: Json): readonly string[] | undefined =>
      hardenSpecification({ data: { sequence }, mark: "line" })?.omitted;
    expect(generate({ start: 0, stop: 100 })).toEqual([]);
    expect(generate({ start: 0, stop: 1e9 })).toEqual(["generate"]);
    expect(generate({ start: 0, stop: 10, step: 1e-9 })).toEqual(["generate"]);
    expect(generate({ start: 0, stop: 10, step: 0 })).toEqual(["generate"]);
    expect(generate({ stop: { expr: "1e9" } })).toEqual(["generate"]);
  });

  it("is refused if it is too deep or too large", () => {
    let deep: JsonObject = {};
    for (let level = 0; level < 100; level++) deep = { layer: [deep] };
    expect(hardenSpecification(deep)).toBeUndefined();
    expect(hardenSpecification({ layer: Array.from({ length: 30_000 }, () => ({ mark: "bar" })) })).toBeUndefined();
  });
});
