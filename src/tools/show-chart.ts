/**
 * A chart for the user to look at, as a tool: `data` of the type `chart`. It holds the same columns and rows a table
 * would, and `mark` for how they are drawn, so that a page without charts can still show the numbers.
 */
import { defineTool } from "./define-tool.ts";
import { describeInput } from "./describe-input.ts";
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

export function createChartTool(): Tool {
  return defineTool({
    name: "show_chart",
    description:
      "Shows the user a chart. Use it to compare numbers or to show how they change. " +
      "Each series has one value per label.",
    input: describeInput<ChartInput>({
      type: "object",
      properties: {
        kind: { type: "string", enum: KINDS, description: "pie takes one series" },
        title: { type: "string", maxLength: 500 },
        description: { type: "string", maxLength: 2000, description: "What it shows, its units or its source" },
        axis: { type: "string", maxLength: 500, description: "What the labels are, such as month" },
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
    // Not to be run twice: it would show twice.
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
      return `The chart is shown to the user: ${kind}, ${series.length} series of ${labels.length} values.`;
    },
  });
}

function findFault(kind: string, count: number, series: ChartInput["series"]): string | undefined {
  if (kind === "pie" && series.length > 1) return "A pie has one series.";
  const wrong = series.find(({ values }) => values.length !== count);
  return wrong === undefined
    ? undefined
    : `The series ${JSON.stringify(wrong.name)} has ${wrong.values.length} values, but there are ${count} labels.`;
}
