/**
 * A chart: drawn by the page's plugin, said in words, and always with its numbers at hand. Where it cannot be drawn the
 * numbers are what is shown. It knows no drawing library.
 */
import { memo, type ReactNode, useId, useMemo, useState } from "react";
import type { JsonObject } from "../../protocol/index.ts";
import { cutHead } from "../parts/cut-text.ts";
import { ShortText } from "../parts/log-box.tsx";
import { Disclosure } from "../ui/disclosure.tsx";
import { formatNumber } from "../ui/format.ts";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, type Language, useWords } from "../ui/words.ts";
import { DataTable } from "./data-table.tsx";
import { DataTree } from "./data-tree.tsx";
import { type ChartDescription, describeChart } from "./describe-chart.ts";
import { remember } from "./remember.ts";
import { readChartNumbers, toVegaLite } from "./to-vega-lite.ts";

const WORDS = defineWords({
  en: {
    chart: "Chart",
    bar: "Bar chart",
    line: "Line chart",
    area: "Area chart",
    point: "Scatter plot",
    pie: "Pie chart",
    points: (count: string) => `${count} points`,
    range: (name: string, min: string, max: string) => `${name}: from ${min} to ${max}`,
    numbers: "Show the numbers",
    specification: "Show the specification",
    failed: (why: string) => `The chart could not be drawn: ${why}`,
    unknown: "Nobody here knows how to draw this; it is shown as it came.",
    stop: ". ",
  },
  zh: {
    chart: "图表",
    bar: "柱状图",
    line: "折线图",
    area: "面积图",
    point: "散点图",
    pie: "饼图",
    points: (count: string) => `${count} 个数据点`,
    range: (name: string, min: string, max: string) => `${name}：从 ${min} 到 ${max}`,
    numbers: "查看数据",
    specification: "查看图表定义",
    failed: (why: string) => `无法绘制此图表：${why}`,
    unknown: "无法识别此图表的格式，以下为原始内容。",
    stop: "；",
  },
});

const MAX_NAME = 200;
const MAX_SAID = 60;

const findSpecification = remember(toVegaLite);
const findNumbers = remember(readChartNumbers);
const findDescription = remember(describeChart);

export interface ChartViewProps {
  /** A chart of ours, or a Vega-Lite specification. */
  readonly data: JsonObject;
  readonly description?: string | undefined;
}

export const ChartView = memo(function ChartView({ data, description }: ChartViewProps): ReactNode {
  const words = useWords(WORDS);
  const { Chart } = useUi().plugins;
  const specification = findSpecification(data);
  const numbers = findNumbers(data);
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
        <Chart
          data={specification}
          title={`${title ?? words.chart}${words.stop}${text}`}
          onFail={(why) => setFailure({ data, reason: why })}
        />
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
  const described = findDescription(data);
  return useMemo(() => sayChart(described, words, language), [described, words, language]);
}

function sayChart({ kind, points, series }: ChartDescription, words: (typeof WORDS)["en"], language: Language): string {
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
    ...series.map(({ name, min, max }) => words.range(cutHead(name, MAX_SAID), say(min), say(max))),
  ].join(words.stop);
}

function readTitle(data: JsonObject): string | undefined {
  const title = data["name"] ?? data["title"];
  const text = typeof title === "object" && title !== null ? (title as JsonObject)["text"] : title;
  return typeof text === "string" && text !== "" ? cutHead(text, MAX_NAME) : undefined;
}
