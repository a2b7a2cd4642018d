import { describe, expect, it } from "vitest";
import type { JsonObject } from "loom-agent/protocol";
import { toVegaLite } from "../../../../src/react/page-parts.ts";
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
    const names = mark === "pie" ? ["一月 25%", "三月 75%"] : ["一月", "三月"];
    expect(readTexts(outcome)).toEqual(expect.arrayContaining(names));
  });

  it("labels up to eight slices of a pie without overlap, and more in the legend", async () => {
    const pie = (count: number, width = 600): Promise<ChartOutcome> => {
      const rows = Array.from({ length: count }, (_, index) => [`part ${index}`, index === 0 ? 500 : 1 + index]);
      return draw(toVegaLite({ mark: "pie", columns: ["part", "value"], rows }) ?? {}, { ...STYLE, width });
    };
    const places = list(await pie(8)).flatMap(({ tag, attributes }) => {
      const [, x, y] = /^translate\(([\d.]+),([\d.]+)\)/.exec(attributes["transform"] ?? "") ?? [];
      return tag === "text" ? [{ x: Number(x), y: Number(y) }] : [];
    });
    expect(places).toHaveLength(8);
    for (const [index, one] of places.entries())
      for (const other of places.slice(index + 1))
        if (one.x === other.x) expect(Math.abs(one.y - other.y)).toBeGreaterThanOrEqual(16);
    expect(places.every(({ x, y }) => x > 0 && x < 600 && y > 0 && y < 280)).toBe(true);
    expect(readTexts(await pie(8))).toEqual(expect.arrayContaining(["part 0 93%", "part 1 <1%", "part 7 1%"]));
    for (const legend of [await pie(12), await pie(3, 200)]) {
      expect(readTexts(legend)).toEqual(expect.arrayContaining([expect.stringMatching(/^part 0 \d+%$/)]));
      expect(readLabels(legend)).toContain("part 0; value: 500");
    }
  });

  it("is wider than the page if it has many categories, and shows all their names", async () => {
    const chart = (count: number): Promise<ChartOutcome> => {
      const rows = Array.from({ length: count }, (_, index) => [`category ${index}`, index]);
      return draw(toVegaLite({ mark: "bar", columns: ["name", "value"], rows }) ?? {});
    };
    const long = await chart(100);
    expect(long).toMatchObject({ isWide: true });
    expect(Number(list(long)[0]?.attributes["width"])).toBeGreaterThan(1500);
    expect(readTexts(long).filter((text) => text.startsWith("category"))).toHaveLength(100);
    expect(await chart(5)).toMatchObject({ isWide: false });
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
