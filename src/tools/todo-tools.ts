/**
 * The to-do list tools: `write_todo_list` shows a list that the user can tick, `update_todo_item` changes one item. The
 * lists are stored in the log. The tools only remember the number of items, to report a wrong ID to the model.
 */
import { createHash } from "node:crypto";
import { dropUndefined } from "../protocol/drop-undefined.ts";
import { BoundedMap } from "../protocol/bounded-map.ts";
import type { LocalizedText } from "../protocol/schema.ts";
import { defineTool } from "./define-tool.ts";
import { describeInput } from "./describe-input.ts";
import { nameSubject } from "./summarize-tool.ts";
import { toolResult } from "./tool-result.ts";
import type { Tool, ToolContext } from "./tool.ts";

/** Lists whose item count is remembered, over all sessions. For other lists, the log checks the IDs. */
const MAX_LISTS = 1000;
const MAX_ITEMS = 200;

interface WriteInput {
  readonly list_id?: string;
  readonly title?: string;
  readonly items: readonly { readonly text: string; readonly completed?: boolean }[];
}

interface UpdateInput {
  readonly list_id: string;
  readonly item_id: string;
  readonly completed?: boolean;
  readonly text?: string;
}

/** Creates the tools `write_todo_list` and `update_todo_item`. */
export function createTodoTools(): readonly Tool[] {
  const lists = new BoundedMap<number>(MAX_LISTS);
  const keyOf = ({ sessionId }: ToolContext, listId: string): string => JSON.stringify([sessionId, listId]);

  const write = defineTool({
    name: "write_todo_list",
    title: { en: "Make a to-do list", zh: "列出待办清单" },
    summarize: ({ title }) => nameSubject({ en: "Make a to-do list", zh: "列出待办清单" }, title),
    description:
      "Shows the user a to-do list. Use it to plan work in several steps, or when the user asks for a list of tasks. " +
      "Returns the ids of the list and its items, for update_todo_item. With list_id, it replaces that list.",
    input: describeInput<WriteInput>({
      type: "object",
      properties: {
        title: { type: "string", maxLength: 500 },
        items: {
          type: "array",
          minItems: 1,
          maxItems: MAX_ITEMS,
          items: {
            type: "object",
            properties: {
              text: { type: "string", minLength: 1, maxLength: 2000, description: "Task to do" },
              completed: { type: "boolean", description: "Whether the task is already done" },
            },
            required: ["text"],
          },
        },
        list_id: {
          type: "string",
          minLength: 1,
          maxLength: 200,
          description: "List to replace. Default: a new list",
        },
      },
      required: ["items"],
    }),
    idempotent: true,
    execute: ({ list_id, title, items }, context) => {
      const id = list_id ?? makeListId(context);
      const shown = items.map(({ text, completed = false }, index) => ({ id: `${index + 1}`, text, completed }));
      context.show(dropUndefined({ type: "todo_list", list_id: id, title, items: shown }));
      lists.set(keyOf(context, id), shown.length);
      const lines = shown.map((item) => `${item.id}. [${item.completed ? "x" : " "}] ${item.text}`);
      return toolResult({
        text: `The list ${id} is shown:\n${lines.join("\n")}`,
        output: { list_id: id, items: shown },
        summary: nameSubject(
          {
            en: `Made a to-do list (${shown.length === 1 ? "1 item" : `${shown.length} items`})`,
            zh: `已列出待办清单（${shown.length} 项）`,
          },
          title,
        ),
      });
    },
  });

  const update = defineTool({
    name: "update_todo_item",
    title: { en: "Update a to-do item", zh: "更新待办事项" },
    description: "Ticks or unticks an item of a to-do list, or changes its text. Tick each step as soon as it is done.",
    input: describeInput<UpdateInput>({
      type: "object",
      properties: {
        list_id: { type: "string", minLength: 1, maxLength: 200, description: "Id returned by write_todo_list" },
        item_id: { type: "string", minLength: 1, maxLength: 200, description: "Id returned by write_todo_list" },
        completed: { type: "boolean", description: "Whether the task is done. Default: unchanged" },
        text: { type: "string", minLength: 1, maxLength: 2000, description: "New text. Default: unchanged" },
      },
      required: ["list_id", "item_id"],
    }),
    idempotent: true,
    execute: ({ list_id, item_id, completed, text }, context) => {
      if (completed === undefined && text === undefined)
        return toolResult({ text: "Nothing was changed: pass `completed` or `text`.", isError: true });
      const count = lists.get(keyOf(context, list_id));
      if (count !== undefined && !isItem(item_id, count))
        return toolResult({ text: `List ${list_id} has items 1 to ${count}, but no item ${item_id}.`, isError: true });
      context.show(dropUndefined({ type: "todo_update", list_id, item_id, completed, text }));
      return toolResult({
        text: `Item ${item_id} of list ${list_id} was updated.`,
        summary: nameSubject(describeUpdate(item_id, completed), text),
      });
    },
  });
  return [write, update];
}

function describeUpdate(id: string, completed: boolean | undefined): LocalizedText {
  if (completed === undefined) return { en: `Changed to-do item ${id}`, zh: `已修改待办事项 ${id}` };
  return completed
    ? { en: `Ticked off to-do item ${id}`, zh: `已勾选待办事项 ${id}` }
    : { en: `Unticked to-do item ${id}`, zh: `已取消勾选待办事项 ${id}` };
}

/** Creates a list ID that is short enough for a model to repeat, and the same if the call is repeated after a crash. */
function makeListId({ runId, callId }: ToolContext): string {
  return `list-${createHash("sha256")
    .update(JSON.stringify([runId, callId]))
    .digest("hex")
    .slice(0, 8)}`;
}

function isItem(id: string, count: number): boolean {
  const number = Number(id);
  return String(number) === id && Number.isInteger(number) && number >= 1 && number <= count;
}
