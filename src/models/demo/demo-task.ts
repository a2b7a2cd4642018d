/** A task: what the demo model does with a tool, its arguments, and the searches, which also answer questions. */
import type { Json, JsonObject } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";
import { type DemoLanguage, speak } from "./demo-texts.ts";
import { findSteps, type FoundSteps, quotePassages, readPassages } from "./passages.ts";

/** What a message asks for: a tool call, or an error. */
export interface DemoTask {
  readonly tool: string;
  /** What is done, for the reasoning and for a task that was not done. */
  readonly about: string;
  /** The arguments. `earlier` are the results of the tasks before it; undefined if it cannot use them. */
  readonly createInput: (earlier: string) => JsonObject | undefined;
  /** The sentence about the result. */
  readonly describe: (result: string) => string;
  /** Text to show with the call. */
  readonly announce?: (earlier: string) => string;
  /** Nothing else is done before the user approves. */
  readonly isConsent?: boolean;
  /** Waits for all tasks before it. */
  readonly isLater?: boolean;
  /** The file that it reads or changes, which may be one that a task before it changes; empty for all files. */
  readonly path?: string;
  /** Makes the answer fail, instead of a call. */
  readonly isFault?: boolean;
}

export const SEARCH_TOOL = "search_knowledge_base";
const MAX_QUERY = 200;

export function createTask(
  tool: string,
  about: string,
  input: JsonObject,
  said: string | DemoTask["describe"],
): DemoTask {
  return { tool, about, createInput: () => input, describe: typeof said === "string" ? () => said : said };
}

export function searchFor(words: string, language: DemoLanguage): DemoTask {
  const query = words.slice(0, MAX_QUERY).replaceAll(/^\s+|[\s?？!！。.]+$/g, "");
  return createTask(SEARCH_TOOL, speak(language)(`look up “${query}”`, `搜索“${query}”`), { query }, (result) =>
    quotePassages(readPassages(result), language),
  );
}

/** Searches, and makes a to-do list of the steps that a passage contains. */
export function searchForSteps(words: string, title: string | undefined, language: DemoLanguage): readonly DemoTask[] {
  const say = speak(language);
  const find = (result: string): FoundSteps | undefined => findSteps(readPassages(result), language);
  const search = searchFor(words, language);
  const about = say("a to-do list", "待办清单");
  const said = say("The items are quoted from the document.", "条目均为文档原文。");
  return [
    {
      ...search,
      describe: (result) => {
        const source = find(result)?.source;
        return source === undefined ? search.describe(result) : say(`Source: ${source}.`, `来源：${source}。`);
      },
    },
    {
      ...createTask("write_todo_list", about, {}, said),
      isLater: true,
      createInput: (earlier) => {
        const steps = find(earlier);
        return steps && { title: title ?? steps.title, items: steps.items.map((text) => ({ text })) };
      },
      announce: (earlier) => {
        const source = find(earlier)?.source ?? "";
        return say(`Here is a list from ${source}:\n\n`, `根据${source}整理的清单：\n\n`);
      },
    },
  ];
}

/** Fills the fields of an object from a text: strings get the text, numbers the last result in it. */
export function fillSchema({ properties }: JsonObject, text: string): JsonObject {
  const fields = Object.entries(isJsonObject(properties) ? properties : {});
  return Object.fromEntries(fields.map(([name, field]) => [name, fillField(isJsonObject(field) ? field : {}, text)]));
}

function fillField(field: JsonObject, text: string): Json {
  const { type, enum: choices, maxLength = text.length } = field;
  const [choice] = (choices ?? []) as readonly Json[];
  if (choice !== undefined) return choice;
  if (type === "object") return fillSchema(field, text);
  if (type === "number" || type === "integer") return findNumber(text);
  if (type === "array") return [];
  return type === "boolean" ? false : text.slice(0, Number(maxLength)).toWellFormed();
}

/** Returns the number after the last equals sign, or else the last number. */
function findNumber(text: string): number {
  const [, result] = [...text.matchAll(/=\s?(-?\d+(?:\.\d+)?)/g)].at(-1) ?? [];
  return Number(result ?? text.match(/(?<![\w.-])-?\d+(?:\.\d+)?/g)?.at(-1) ?? 0);
}
