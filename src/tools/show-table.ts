/** The `show_table` tool. Emits `data` of type `dataframe`, as specification 003 defines it. */
import { shorten } from "../protocol/cut-text.ts";
import type { Json } from "../protocol/index.ts";
import { defineTool } from "./define-tool.ts";
import { describeInput } from "./describe-input.ts";
import { nameSubject } from "./summarize-tool.ts";
import { toolResult } from "./tool-result.ts";
import type { Tool } from "./tool.ts";

interface TableInput {
  readonly name?: string;
  readonly description?: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Json[])[];
}

const MAX_COLUMNS = 100;
const MAX_ROWS = 2000;
const MAX_NAME = 500;

/** Creates the `show_table` tool, which shows the user a table. */
export function createTableTool(): Tool {
  return defineTool({
    name: "show_table",
    title: { en: "Show a table", zh: "展示表格" },
    summarize: ({ name }) => nameSubject({ en: "Show a table", zh: "展示表格" }, name),
    description: "Shows the user a table. Use it for data with several columns instead of writing it as text.",
    input: describeInput<TableInput>({
      type: "object",
      properties: {
        name: { type: "string", maxLength: MAX_NAME, description: "Title of the table" },
        description: { type: "string", maxLength: 2000, description: "What the table shows, its units or its source" },
        columns: { type: "array", items: { type: "string" }, minItems: 1, maxItems: MAX_COLUMNS },
        rows: {
          type: "array",
          description: "Each row has one value per column",
          items: { type: "array", items: { type: ["string", "number", "boolean", "null"] } },
          maxItems: MAX_ROWS,
        },
      },
      required: ["columns", "rows"],
    }),
    // Not idempotent: the table would be shown twice.
    execute: ({ name, description, columns, rows }, { show }) => {
      const wrong = rows.findIndex((row) => row.length !== columns.length);
      if (wrong >= 0)
        return toolResult({
          text: `Row ${wrong + 1} has ${rows[wrong]?.length} values, but there are ${columns.length} columns. Nothing was shown.`,
          isError: true,
        });
      show({
        type: "data",
        data_type: "dataframe",
        // 003 §1.3 gives every table a name.
        data: { name: name ?? shorten(columns.join(", "), MAX_NAME), columns, rows },
        ...(description === undefined ? {} : { metadata: { description } }),
      });
      return toolResult({
        text: `Shown to the user: table with ${rows.length} rows and ${columns.length} columns.`,
        summary: nameSubject({ en: "Showed a table", zh: "已展示表格" }, name),
      });
    },
  });
}
