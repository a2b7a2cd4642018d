/**
 * The `show_chart` tool. Emits `data` of type `chart`, with the columns and rows of a table and `mark` for the chart
 * type. A client without charts can show the table.
 */
import { defineTool } from "./define-tool.ts";
import { describeInput } from "./describe-input.ts";
import { nameSubject } from "./summarize-tool.ts";
import { toolResult } from "./tool-result.ts";
import type { Tool } from "./tool.ts";

const KINDS = ["bar", "line", "area", "point", "pie"] as const;

interface ChartInput {
  readonly kind: (typeof KINDS)[number];
  readonly title?: string;
  readonly description?: string;
  readonly axis?: string;
  readonly labels: readonly (string | number)[];
  readonly series: readonly { readonly name: string; readonly values: readonly (number | null)[] }[];
}

const MAX_POINTS = 2000;
const MAX_SERIES = 20;

/** Creates the `show_chart` tool, which shows the user a chart. */
export function createChartTool(): Tool {
  return defineTool({
    name: "show_chart",
    title: { en: "Show a chart", zh: "展示图表" },
    summarize: ({ title }) => nameSubject({ en: "Show a chart", zh: "展示图表" }, title),
    description:
      "Shows the user a chart. Use it to compare numbers or show how they change. " +
      "Each series has one value per label.",
    input: describeInput<ChartInput>({
      type: "object",
      properties: {
        kind: { type: "string", enum: KINDS, description: "Chart type; pie takes one series" },
        title: { type: "string", maxLength: 500 },
        description: { type: "string", maxLength: 2000, description: "What the chart shows, its units or its source" },
        axis: { type: "string", maxLength: 500, description: "What the labels stand for, such as month" },
        labels: { type: "array", items: { type: ["string", "number"] }, minItems: 1, maxItems: MAX_POINTS },
        series: {
          type: "array",
          minItems: 1,
          maxItems: MAX_SERIES,
          items: {
            type: "object",
            properties: {
              name: { type: "string", maxLength: 500 },
              values: { type: "array", items: { type: ["number", "null"] }, maxItems: MAX_POINTS },
            },
            required: ["name", "values"],
          },
        },
      },
      required: ["kind", "labels", "series"],
    }),
    // Not idempotent: the chart would be shown twice.
    execute: ({ kind, title, description, axis = "label", labels, series }, { show }) => {
      const fault = findFault(kind, labels.length, series);
      if (fault !== undefined) return toolResult({ text: `${fault} Nothing was shown.`, isError: true });
      show({
        type: "data",
        data_type: "chart",
        data: {
          ...(title === undefined ? {} : { name: title }),
          mark: kind,
          columns: [axis, ...series.map(({ name }) => name)],
          rows: labels.map((label, index) => [label, ...series.map(({ values }) => values[index] ?? null)]),
        },
        ...(description === undefined ? {} : { metadata: { description } }),
      });
      return toolResult({
        text: `Shown to the user: ${kind} chart, ${series.length} series of ${labels.length} values.`,
        summary: nameSubject({ en: "Showed a chart", zh: "已展示图表" }, title),
      });
    },
  });
}

function findFault(kind: string, count: number, series: ChartInput["series"]): string | undefined {
  if (kind === "pie" && series.length > 1) return "A pie chart takes one series.";
  const wrong = series.find(({ values }) => values.length !== count);
  return wrong === undefined
    ? undefined
    : `The series ${JSON.stringify(wrong.name)} has ${wrong.values.length} values, but there are ${count} labels.`;
}
