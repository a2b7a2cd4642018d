/** A model that says what it is told, or calls the tool it is told to, with the arguments it is told. */
import type { ModelMessage } from "../../src/models/index.ts";
import { ScriptedModel } from "../../src/models/testing.ts";

/** A message is the name of a tool and its arguments as JSON; or `say`, and what. */
export function createCalledModel(): ScriptedModel {
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
