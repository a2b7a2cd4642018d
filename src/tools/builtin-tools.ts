/** Creates the built-in tools. Tools that access files or the network are only included if an option enables them. */
import {
  ANY_OPTION,
  isBoolean,
  OBJECT_OPTION,
  type OptionTable,
  orElse,
  readOptions,
} from "../protocol/read-options.ts";
import { createConsentTool } from "./ask-consent.ts";
import { createCalculatorTool } from "./calculator/calculator.ts";
import { createCurrentTimeTool, type CurrentTimeOptions } from "./current-time.ts";
import { createFetchTool, type FetchToolOptions } from "./fetch/create-fetch-tool.ts";
import { createFileTools, type FileToolOptions } from "./files/create-file-tools.ts";
import { createChartTool } from "./show-chart.ts";
import { createImageTool, type ImageToolOptions } from "./show-image.ts";
import { createTableTool } from "./show-table.ts";
import { createTodoTools } from "./todo-tools.ts";
import type { Tool } from "./tool.ts";

/** Options of `createBuiltinTools`. */
export interface BuiltinToolsOptions {
  /** Options of `current_time`. */
  readonly time?: CurrentTimeOptions;
  /** Options of `show_image`. */
  readonly images?: ImageToolOptions;
  /** Folder whose files the agent can read, and change with the user's approval. Without it there are no file tools. */
  readonly workspace?: string;
  /** Options of the file tools. Only used with `workspace`. */
  readonly files?: FileToolOptions;
  /** Enables the `http_fetch` tool, with options if given. Default: false. */
  readonly fetch?: boolean | FetchToolOptions;
}

/** The tools read their own options. */
const BUILTIN_OPTIONS: OptionTable<BuiltinToolsOptions> = {
  time: OBJECT_OPTION,
  images: OBJECT_OPTION,
  workspace: ANY_OPTION,
  files: OBJECT_OPTION,
  fetch: orElse(OBJECT_OPTION, "true, false", isBoolean),
};

/**
 * Creates the built-in tools: `calculator`, `current_time`, `write_todo_list`, `update_todo_item`, `show_table`,
 * `show_chart`, `show_image` and `ask_consent`. The file tools and `http_fetch` are only included if an option enables
 * them.
 *
 * ```ts
 * const tools = createBuiltinTools({ workspace: "./notes", fetch: true });
 * ```
 */
export function createBuiltinTools(options: BuiltinToolsOptions = {}): readonly Tool[] {
  const { time, images, workspace, files, fetch } = readOptions(BUILTIN_OPTIONS, options);
  return [
    createCalculatorTool(),
    createCurrentTimeTool(time),
    ...createTodoTools(),
    createTableTool(),
    createChartTool(),
    createImageTool(images),
    createConsentTool(),
    ...(workspace === undefined ? [] : createFileTools(workspace, files)),
    ...(fetch === undefined || fetch === false ? [] : [createFetchTool(fetch === true ? {} : fetch)]),
  ];
}
