/**
 * Says what a tool call does or has done, in words about the task. The name of the tool is for its details. Words of an
 * MCP server are in quotation marks, because the server can claim anything.
 */
import type { ToolCall } from "../../client/index.ts";
import { cutText } from "../../protocol/cut-text.ts";
import { revealHidden } from "./reveal-hidden.ts";

const MAX_LENGTH = 200;

export type DescribedCall = Pick<ToolCall, "toolName" | "description" | "summary" | "server" | "status">;

/** Empty for a call without a name. */
export function describeCall({ toolName, description = "", summary, server, status }: DescribedCall): string {
  const said = (status === "success" ? summary : undefined) ?? description;
  const line = said.trim().replace(/[.。]$/u, "");
  if (line === "") return showName(toolName);
  const shown = revealHidden(cutText(line, MAX_LENGTH));
  return server === undefined ? shown : `“${shown}”`;
}

/** Whether a description shows an argument, so that the arguments need not be repeated beside it. */
export function namesArgument(described: string, given: ToolCall["arguments"]): boolean {
  return Object.values(given).some((value) => typeof value === "string" && value !== "" && described.includes(value));
}

/** Turns `get_weather` and `getWeather` into "Get weather". Other names stay as they are. */
function showName(name: string): string {
  const shown = revealHidden(cutText(name, MAX_LENGTH));
  if (!/^[a-z][a-zA-Z\d]*(?:[_-]+[a-zA-Z\d]+)*$/.test(shown)) return shown;
  const words = shown.replaceAll(/([a-z\d])([A-Z])/g, "$1 $2").replaceAll(/[_-]+/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1).toLowerCase();
}
