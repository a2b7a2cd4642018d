/**
 * Agents for `loom serve --agents` in tests that kill the server. Their answers depend only on the prompt, because another
 * process continues the run. While there is no file `STORE.gate`, answers after a tool result, and thoughts about `think`,
 * stop in the middle.
 */
import { existsSync } from "node:fs";
import { agent } from "../../src/agents/index.ts";
import type { ScriptedRequest, ScriptedTurn } from "../../src/models/scripted-model.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import { createTools } from "../agents/counted-tools.ts";

const STORE = process.argv[process.argv.indexOf("--store") + 1] ?? "";
const CALLS: { readonly [word: string]: NonNullable<ScriptedTurn["calls"]> } = {
  add: [{ name: "add", input: { a: 1, b: 2 }, id: "c1" }],
  remove: [{ name: "remove", input: { path: "a" }, id: "c1" }],
  ask: [{ name: "ask", input: { question: "Which?" }, id: "c1" }],
};

export const ANSWER = "This is a long answer, of which only the first words are sent at once.";

function answer({ prompt }: ScriptedRequest): ScriptedTurn {
  const last = prompt.at(-1);
  const isOpen = existsSync(`${STORE}.gate`);
  if (last?.role === "tool")
    return { text: ANSWER, chunk: 6, ...(isOpen ? {} : { fault: { kind: "stall", after: 5 } }) };
  if (JSON.stringify(last?.content).includes("think")) {
    const fault = { kind: "stall", after: 3 } as const;
    return { reasoning: "I think of an answer.", text: ANSWER, chunk: 6, ...(isOpen ? {} : { fault }) };
  }
  const word = Object.keys(CALLS).find((each) => JSON.stringify(last?.content).includes(each));
  return { reasoning: "I use a tool.", text: "Let me see.", calls: CALLS[word ?? ""] ?? [], chunk: 4 };
}

export const SERVED = { main: agent({ model: new ScriptedModel(answer), tools: createTools().tools }) };
