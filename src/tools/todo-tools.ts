/**
 * To-do lists as tools: one writes a list the user can see and tick, one changes an item of it. The lists themselves are
 * in the log; here is only remembered which items the latest have, so that a wrong id is told to the model at once.
 */
import { createHash } from "node:crypto";
import { BoundedMap } from "../protocol/index.ts";
import { defineTool } from "./define-tool.ts";
import { describeInput } from "./describe-input.ts";
import { toolResult } from "./tool-result.ts";
import type { Tool, ToolContext } from "./tool.ts";

/** Lists whose items are remembered, over all sessions; of others the log decides. */
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

export function createTodoTools(): readonly Tool[] {
  const lists = new BoundedMap<number>(MAX_LISTS);
  const keyOf = ({ sessionId }: ToolContext, listId: string): string => JSON.stringify([sessionId, listId]);

  const write = defineTool({
    name: "write_todo_list",
    description:
      "Shows the user a to-do list. Use it to plan work of several steps, or when the user asks for a list of tasks. " +
      "Gives the ids of the list and its items, for update_todo_item. With list_id it replaces that list.",
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
              text: { type: "string", minLength: 1, maxLength: 2000, description: "What is to be done" },
              completed: { type: "boolean", description: "Whether it is done already" },
            },
            required: ["text"],
          },
        },
        list_id: {
          type: "string",
          minLength: 1,
          maxLength: 200,
          description: "The list to replace; a new one when absent",
        },
      },
      required: ["items"],
    }),
    idempotent: true,
    execute: ({ list_id, title, items }, context) => {
      const id = list_id ?? makeListId(context);
      const shown = items.map(({ text, completed = false }, index) => ({ id: `${index + 1}`, text, completed }));
      context.show({ type: "todo_list", list_id: id, ...(title === undefined ? {} : { title }), items: shown });
      lists.set(keyOf(context, id), shown.length);
      const lines = shown.map((item) => `${item.id}. [${item.completed ? "x" : " "}] ${item.text}`);
      return toolResult({
        text: `The list ${id} is shown:\n${lines.join("\n")}`,
        output: { list_id: id, items: shown },
      });
    },
  });

  const update = defineTool({
    name: "update_todo_item",
    description:
      "Ticks an item of a to-do list, unticks it, or changes its text. Tick each step as soon as it is done.",
    input: describeInput<UpdateInput>({
      type: "object",
      properties: {
        list_id: { type: "string", minLength: 1, maxLength: 200, description: "As write_todo_list gave it" },
        item_id: { type: "string", minLength: 1, maxLength: 200, description: "As write_todo_list gave it" },
        completed: { type: "boolean", description: "Whether it is done; unchanged when absent" },
        text: { type: "string", minLength: 1, maxLength: 2000, description: "The new text; unchanged when absent" },
      },
      required: ["list_id", "item_id"],
    }),
    idempotent: true,
    execute: ({ list_id, item_id, completed, text }, context) => {
      if (completed === undefined && text === undefined)
        return toolResult({ text: "Nothing was changed: give `completed` or `text`.", isError: true });
      const count = lists.get(keyOf(context, list_id));
      if (count !== undefined && !isItem(item_id, count))
        return toolResult({ text: `List ${list_id} has the items 1 to ${count}, not ${item_id}.`, isError: true });
      context.show({
        type: "todo_update",
        list_id,
        item_id,
        ...(completed === undefined ? {} : { completed }),
        ...(text === undefined ? {} : { text }),
      });
      return `Item ${item_id} of list ${list_id} was changed.`;
    },
  });
  return [write, update];
}

/** Short enough for a model to repeat, and the same when the call is made again after a crash. */
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
