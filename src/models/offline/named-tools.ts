/** Calls a tool that the message names: "call roll_dice with 20 sides". For the tools of users, which no other skill knows. */
import { isJsonObject, type JsonObject } from "../../protocol/index.ts";
import type { ModelTool } from "../model.ts";
import { fillSchema } from "./fill-schema.ts";
import type { Ability, FoundTask } from "./offline-task.ts";
import { isOnlyMentioned } from "./request-words.ts";

/** A name with an underscore, or one that is called a tool. The words after it are the arguments. */
const NAMED =
  /(?:\b(?:call|use|run)\s{1,4}(?:(?:the )?tool\s{1,4})|(?:调用|使用)工具\s{0,4})[`“"]?(?<tool>[A-Za-z]\w{0,63})[`”"]?|(?:\b(?:call|use|run)\s{1,4}|(?:调用|使用)\s{0,4})[`“"]?(?<name>[A-Za-z]\w{0,63}_\w{1,63})[`”"]?/gi;
const ARGUMENTS =
  /^[^\S\n]{0,4}(?:(?<json>\{.*\})|(?:(?:with|for|on)\b|[:：，,])?\s{0,4}(?<words>[^\n;!?。！？；]{0,500}))/s;

export function findNamedTools(text: string): readonly FoundTask[] {
  return [...text.matchAll(NAMED)].flatMap(({ 0: words, index: at, groups = {} }) => {
    const tool = groups["tool"] ?? groups["name"] ?? "";
    if (isOnlyMentioned(text, at)) return [];
    const after = at + words.length;
    const given = ARGUMENTS.exec(text.slice(after));
    return {
      tool,
      at,
      end: after + (given?.[0].length ?? 0),
      about: { en: tool, zh: tool },
      createInput: (offered: ModelTool) => createInput(offered, given?.groups ?? {}),
      describeResult: (result: string) => ({ en: `${tool}: ${result.trim()}`, zh: `${tool}：${result.trim()}` }),
    };
  });
}

function createInput({ inputSchema }: ModelTool, given: { readonly [name: string]: string }): JsonObject {
  const filled =
    given["json"] === undefined ? fillSchema(inputSchema, (given["words"] ?? "").trim()) : parse(given["json"]);
  return isJsonObject(filled) ? filled : {};
}

function parse(json: string): JsonObject {
  try {
    const value: unknown = JSON.parse(json);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** How to call a tool that no skill knows. */
export function describeNamedTool(tool: string): Ability {
  return {
    tool,
    can: { en: `call ${tool}`, zh: `调用 ${tool}` },
    example: { en: `Call the tool ${tool}`, zh: `调用工具 ${tool}` },
  };
}
