/** The tools that come with the package, together. Those that reach outside are there only when they are asked for. */
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

export interface BuiltinToolsOptions {
  readonly time?: CurrentTimeOptions;
  readonly images?: ImageToolOptions;
  /** The folder whose files the agent may read, and with the user's consent change; no file tools when absent. */
  readonly workspace?: string;
  readonly files?: FileToolOptions;
  /** Let the agent fetch pages from the web; not when absent. */
  readonly fetch?: boolean | FetchToolOptions;
}

export function createBuiltinTools({
  time = {},
  images = {},
  workspace,
  files = {},
  fetch = false,
}: BuiltinToolsOptions = {}): readonly Tool[] {
  return [
    createCalculatorTool(),
    createCurrentTimeTool(time),
    ...createTodoTools(),
    createTableTool(),
    createChartTool(),
    createImageTool(images),
    createConsentTool(),
    ...(workspace === undefined ? [] : createFileTools(workspace, files)),
    ...(fetch === false ? [] : [createFetchTool(fetch === true ? {} : fetch)]),
  ];
}
