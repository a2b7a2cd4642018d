import { describe, expect, it } from "vitest";
import type { JsonObject } from "loom-agent/protocol";
import { toVegaLite } from "loom-agent/react";
import type { ChartStyle } from "./chart-style.ts";
import { type ChartOutcome, computeChart } from "./compute-chart.ts";
import type { SvgElement } from "./read-svg.ts";

const STYLE: ChartStyle = {
  width: 600,
  language: "en",
  font: "sans-serif",
  ink: "rgb(1, 1, 1)",
  soft: "rgb(2, 2, 2)",
  line: "rgb(3, 3, 3)",
  strong: "rgb(4, 4, 4)",
  paper: "rgb(5, 5, 5)",
  wash: "rgb(6, 6, 6)",
  series: ["rgb(10, 0, 0)", "rgb(20, 0, 0)"],
};

const draw = (specification: JsonObject, style = STYLE): Promise<ChartOutcome> => computeChart(specification, style);

function list(outcome: ChartOutcome): SvgElement[] {
  if (!("drawing" in outcome)) throw new Error(JSON.stringify(outcome));
  const all = (element: SvgElement): SvgElement[] => [
    element,
    ...element.children.flatMap((child) => (typeof child === "string" ? [] : all(child))),
  ];
  return all(outcome.drawing);
}

const readTexts = (outcome: ChartOutcome): string[] =>
  list(outcome).flatMap(({ tag, children }) =>
    tag === "text" ? children.filter((child) => typeof child === "string") : [],
  );
const readLabels = (outcome: ChartOutcome): string[] =>
  list(outcome).flatMap(({ attributes }) => attributes["aria-label"] ?? []);

describe("a Loom chart", () => {
  it.each(["bar", "line", "area", "point", "pie"])("is drawn as %s, each mark with its values", async (mark) => {
    const data = {
      mark,
      columns: ["月份", "a.b[c]"],
      rows: [
        ["一月", 1],
        ["二月", null],
        ["三月", 3],
      ],
    };
    const outcome = await draw(toVegaLite(data) ?? {});
    expect(readLabels(outcome)).toEqual(expect.arrayContaining(["一月; a.b[c]: 1", "三月; a.b[c]: 3"]));
    expect(readTexts(outcome)).toEqual(expect.arrayContaining(["一月", "三月"]));
  });

  it("uses the colors, width and language of the page", async () => {
    const rows = Array.from({ length: 40 }, (_, day) => [
      `2024-01-${String((day % 28) + 1).padStart(2, "0")}`,
      day,
      -day,
    ]);
    const specification = toVegaLite({ mark: "line", columns: ["day", "up", "down"], rows }) ?? {};
    const outcome = await draw(specification, { ...STYLE, language: "zh" });
    const used = list(outcome).flatMap(({ attributes }) => attributes["stroke"] ?? []);
    expect(used).toEqual(expect.arrayContaining(["rgb(10, 0, 0)", "rgb(20, 0, 0)", "rgb(3, 3, 3)"]));
    expect(list(outcome)[0]?.attributes["width"]).toBe("600");
    expect(readTexts(outcome).some((text) => text.startsWith("1月"))).toBe(true);
  });
});

describe("a Vega-Lite specification", () => {
  const data = {
    values: [
      { a: 1, b: "x" },
      { a: 2, b: "<b>" },
    ],
  };

  it("is computed without compiling its text to code", async () => {
    const made = globalThis.Function;
    const refuse = (): never => {
      throw new Error("code of text");
    };
    globalThis.Function = Object.assign(refuse, { prototype: made.prototype }) as unknown as FunctionConstructor;
    try {
      const outcome = await draw({
        data,
        transform: [{ calculate: "datum.a * 2 + length(datum.b)", as: "c" }, { filter: "datum.c > 1" }],
        mark: "bar",
        encoding: { x: { field: "b" }, y: { field: "c", type: "quantitative" } },
      });
      expect(readLabels(outcome)).toEqual(["b: x; c: 3", "b: <b>; c: 7"]);
    } finally {
      globalThis.Function = made;
    }
  });

  it("reaches no globals through its expressions", async () => {
    for (const calculate of ["datum.constructor.constructor('return 1')()", "window.location", "this.x", "eval('1')"]) {
      const outcome = await draw({
        data,
        transform: [{ calculate, as: "c" }],
        mark: "point",
        encoding: { x: { field: "c" } },
      });
      const said = "failure" in outcome ? outcome.failure : readLabels(outcome).join();
      expect(said, calculate).toMatch(/^invalid$|undefined|null/);
    }
  });

  it("reports why it cannot be drawn", async () => {
    const encoding = { x: { field: "a", type: "quantitative" }, y: { field: "a", type: "quantitative" } };
    expect(await draw({ data: { url: "d.json" }, mark: "bar", encoding })).toEqual({ failure: "no_data" });
    expect(await draw({ data, mark: "nonsense", encoding })).toEqual({ failure: "invalid" });
    expect(await draw({ data, transform: [{ filter: "datum.(" }], mark: "bar" })).toMatchObject({ failure: "invalid" });
    expect(await computeChart({ data, mark: "point", encoding }, STYLE, 20)).toEqual({ failure: "too_many" });
  });

  it("is drawn without forbidden parts, which are reported", async () => {
    const outcome = await draw({
      data,
      mark: { type: "bar", href: "javascript:alert(1)" },
      encoding: { x: { field: "b" }, url: { field: "b" }, tooltip: { value: "<script>" } },
    });
    expect(outcome).toMatchObject({ omitted: ["fetch", "link"] });
    expect(JSON.stringify(outcome)).not.toMatch(/javascript|href|script>/);
  });
});
