/** Test helper: asks the offline model, with tools of all names it knows, and describes the calls it makes. */
import type { ModelMessage, ModelTool } from "../../src/models/model.ts";
import { answerPrompt, type OfflineAnswer } from "../../src/models/offline/answer-prompt.ts";

export const TOOLS: readonly ModelTool[] = [
  "calculator",
  "current_time",
  "write_todo_list",
  "update_todo_item",
  "show_table",
  "show_chart",
  "show_image",
  "ask_consent",
  "read_file",
  "write_file",
  "delete_file",
  "list_files",
  "search_files",
].map((name) => ({ name, description: name, inputSchema: { type: "object", properties: {} } }));

export const user = (text: string): ModelMessage => ({ role: "user", content: [{ type: "text", text }] });
export const ask = (text: string, before: readonly ModelMessage[] = []): OfflineAnswer =>
  answerPrompt([...before, user(text)], TOOLS);

/** Describes the calls briefly: a list by its items, a picture by its description. */
export function callsOf(text: string, before: readonly ModelMessage[] = []): readonly string[] {
  return ask(text, before).calls.map(({ name, input }) => {
    const { title, items, columns, rows, kind, labels, series, alt, question } = input as Record<string, unknown>;
    const named = title === undefined ? "" : `${title as string}: `;
    switch (name) {
      case "write_todo_list":
        return `todo ${named}${(items as { text: string }[]).map((item) => item.text).join(" | ")}`;
      case "show_table":
        return `table ${[columns as string[], ...(rows as string[][])].map((row) => row.join(",")).join(" | ")}`;
      case "show_chart": {
        const values = (series as { values: number[] }[])[0]?.values ?? [];
        return `${kind as string} ${named}${(labels as string[]).map((label, n) => `${label}=${values[n] ?? ""}`).join(" ")}`;
      }
      case "show_image":
        return `image ${alt as string}`;
      case "ask_consent":
        return `consent ${question as string}`;
      default:
        return `${name} ${Object.values(input as Record<string, string>).join(" ")}`.trim();
    }
  });
}
