/** A model that does what the message says: calls a tool or answers with a text. */
import type { ModelMessage } from "../../src/models/index.ts";
import { ScriptedModel } from "../../src/models/testing.ts";

/** A message is a tool name with JSON arguments, or `say` and a text. */
export function createCommandModel(): ScriptedModel {
  return new ScriptedModel(({ prompt }) => {
    const last = prompt.at(-1);
    if (last?.role === "tool") return { text: "That was **all**." };
    const [, name = "", input = ""] = /^(\w+) ?(.*)$/s.exec(readText(last)) ?? [];
    if (name === "say") return { text: input };
    return { calls: [{ name, input: input === "" ? "{}" : input }] };
  });
}

function readText(message: ModelMessage | undefined): string {
  if (message?.role !== "user") return "";
  return message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}
