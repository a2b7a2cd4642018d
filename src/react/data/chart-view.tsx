/**
 * A chart, drawn by the page's plugin, with a text description and its data as a table. If it cannot be drawn, the
 * table is shown. It does not depend on a drawing library.
 */
import { memo, type ReactNode, useId, useMemo, useState } from "react";
import type { JsonObject } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";
import { ShortText } from "../parts/log-box.tsx";
import { Disclosure } from "../ui/disclosure.tsx";
import { formatNumber } from "../ui/format.ts";
import { type UiLanguage, useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { DataTable } from "./data-table.tsx";
import { DataTree } from "./data-tree.tsx";
import { PluginGuard } from "../text/plugin-guard.tsx";
import { memoizeWeak } from "./memoize-weak.ts";
import { readChartNumbers, readLoomChart, toVegaLite } from "./to-vega-lite.ts";
import { cutText } from "../../protocol/cut-text.ts";
import { readNumber, readTable, type TableData } from "../../protocol/read-table.ts";

const WORDS = defineWords({
  en: {
    chart: "Chart",
    notLoaded: "it could not be loaded.",
    bar: "Bar chart",
    line: "Line chart",
    area: "Area chart",
    point: "Scatter plot",
    pie: "Pie chart",
    points: (count: string) => `${count} points`,
    range: (name: string, min: string, max: string) => `${name}: ${min} to ${max}`,
    numbers: "Show data",
    specification: "Show specification",
    failed: (why: string) => `Couldn't draw the chart: ${why}`,
    unknown: "Unknown chart format. Showing raw data.",
    stop: ". ",
  },
  zh: {
    chart: "图表",
    notLoaded: "加载失败。",
    bar: "柱状图",
    line: "折线图",
    area: "面积图",
    point: "散点图",
    pie: "饼图",
    points: (count: string) => `${count} 个数据点`,
    range: (name: string, min: string, max: string) => `${name}：${min} 到 ${max}`,
    numbers: "查看数据",
    specification: "查看图表定义",
    failed: (why: string) => `无法绘制图表：${why}`,
    unknown: "未知的图表格式，显示原始数据。",
    stop: "；",
  },
});

const MAX_NAME = 200;
const MAX_SAID = 60;

const getSpecification = memoizeWeak(toVegaLite);
const getNumbers = memoizeWeak(readChartNumbers);
const getDescription = memoizeWeak(describeChart);

export interface ChartViewProps {
  /** A Loom chart (`mark`, `columns`, `rows`) or a Vega-Lite specification. */
  readonly data: JsonObject;
  /** Caption below the title. */
  readonly description?: string | undefined;
}

/** Shows a chart with a text description and its data. */
export const ChartView = memo(function ChartView({ data, description }: ChartViewProps): ReactNode {
  const words = useWords(WORDS);
  const { Chart } = useUi().plugins;
  const specification = getSpecification(data);
  const numbers = getNumbers(data);
  const [failure, setFailure] = useState<{ readonly data: JsonObject; readonly reason: string }>();
  const text = useChartText(data);
  const id = useId();
  const title = readTitle(data);
  const reason = failure?.data === data ? failure.reason : undefined;
  if (specification === undefined)
    return (
      <figure className="loom-chart">
        <Caption title={title} description={description} />
        <p className="loom-data-note">{words.unknown}</p>
        <DataTree data={data} />
      </figure>
    );
  const isDrawn = Chart !== undefined && reason === undefined;
  return (
    <figure className="loom-chart" aria-describedby={id}>
      <Caption title={title} description={description} />
      <p className="loom-said" id={id}>
        {text}
      </p>
      {isDrawn ? (
        <PluginGuard plain={null} onFail={() => setFailure({ data, reason: words.notLoaded })}>
          <Chart
            data={specification}
            title={`${title ?? words.chart}${words.stop}${text}`}
            onFail={(why) => setFailure({ data, reason: why })}
          />
        </PluginGuard>
      ) : null}
      {reason === undefined ? null : (
        <p className="loom-data-note" role="status">
          {words.failed(reason)}
        </p>
      )}
      <Numbers data={data} numbers={numbers} isDrawn={isDrawn} />
    </figure>
  );
});

interface NumbersProps {
  readonly data: JsonObject;
  readonly numbers: JsonObject | undefined;
  readonly isDrawn: boolean;
}

function Numbers({ data, numbers, isDrawn }: NumbersProps): ReactNode {
  const words = useWords(WORDS);
  const content = numbers === undefined ? <DataTree data={data} /> : <DataTable data={numbers} isNamed={false} />;
  if (!isDrawn) return content;
  return <Disclosure summary={numbers === undefined ? words.specification : words.numbers}>{content}</Disclosure>;
}

function Caption({
  title,
  description,
}: {
  readonly title: string | undefined;
  readonly description: string | undefined;
}): ReactNode {
  if (title === undefined && description === undefined) return null;
  return (
    <figcaption className="loom-data-caption">
      {title === undefined ? null : <strong>{title}</strong>}
      {description === undefined ? null : <ShortText text={description} />}
    </figcaption>
  );
}

function useChartText(data: JsonObject): string {
  const words = useWords(WORDS);
  const { language } = useUi();
  const described = getDescription(data);
  return useMemo(() => formatDescription(described, words, language), [described, words, language]);
}

function formatDescription(
  { kind, points, series }: ChartDescription,
  words: (typeof WORDS)["en"],
  language: UiLanguage,
): string {
  const say = (value: number): string => formatNumber(value, language);
  const kinds: { readonly [kind: string]: string | undefined } = {
    bar: words.bar,
    line: words.line,
    area: words.area,
    point: words.point,
    circle: words.point,
    pie: words.pie,
    arc: words.pie,
  };
  return [
    kinds[kind ?? ""] ?? words.chart,
    words.points(say(points)),
    ...series.map(({ name, min, max }) => words.range(cutText(name, MAX_SAID), say(min), say(max))),
  ].join(words.stop);
}

function readTitle(data: JsonObject): string | undefined {
  const title = data["name"] ?? data["title"];
  const text = typeof title === "object" && title !== null ? (title as JsonObject)["text"] : title;
  return typeof text === "string" && text !== "" ? cutText(text, MAX_NAME) : undefined;
}

interface ChartDescription {
  /** `bar`, `line` and so on; undefined if unknown or mixed. */
  readonly kind: string | undefined;
  readonly points: number;
  readonly series: readonly SeriesRange[];
}

interface SeriesRange {
  readonly name: string;
  readonly min: number;
  readonly max: number;
}

/** Maximum series described. */
const MAX_SERIES = 8;

/** Describes a chart for screen readers: its kind, number of points, and the range of each series. */
export function describeChart(data: JsonObject): ChartDescription {
  const own = readLoomChart(data);
  const numbers = readChartNumbers(data);
  const table = own?.table ?? (numbers === undefined ? undefined : readTable(numbers));
  const columns = (table?.columns ?? []).map((column, index) => ({ ...column, index }));
  const numeric = columns.filter(({ kind, index }) => kind === "number" && (own === undefined || index > 0));
  return {
    kind: own?.kind ?? readMark(data),
    points: table?.rowCount ?? 0,
    series: numeric.slice(0, MAX_SERIES).flatMap(({ title, index }) => {
      const range = table === undefined ? undefined : findRange(table, index);
      return range === undefined ? [] : [{ name: title, ...range }];
    }),
  };
}

function readMark({ mark }: JsonObject & { readonly mark?: JsonObject[string] }): string | undefined {
  const type = isJsonObject(mark) ? mark["type"] : mark;
  return typeof type === "string" ? type : undefined;
}

function findRange(table: TableData, column: number): Omit<SeriesRange, "name"> | undefined {
  let range: { min: number; max: number } | undefined;
  for (let row = 0; row < table.rowCount; row++) {
    const value = readNumber(table.getCell(row, column));
    if (value === undefined) continue;
    range =
      range === undefined
        ? { min: value, max: value }
        : { min: Math.min(range.min, value), max: Math.max(range.max, value) };
  }
  return range;
}
