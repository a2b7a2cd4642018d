/** The agent of the tests that kill servers: it notes each message in a file with a tool, then answers slowly. */
import { appendFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { z } from "zod";
import { agent } from "../../src/agents/index.ts";
import type { ScriptedRequest } from "../../src/models/scripted-model.ts";
import { defineTool } from "../../src/tools/define-tool.ts";
import { createPacedModel, type PacedModelOptions } from "../server/paced-model.ts";

export interface NotingOptions extends PacedModelOptions {
  /** The file of notes. */
  readonly notes: string;
  /** Pause between two parts of an answer in milliseconds. */
  readonly partMs: number;
  /** How often the text of an answer is repeated. */
  readonly answers: number;
}

/** The note of a message whose key ends with `-ask` needs an approval. */
export function createNotingAgent({ notes, partMs, answers, ...paced }: NotingOptions) {
  const text = `Noted — 已记下. ${"The rest of this answer only makes the run take longer. ".repeat(answers)}`;

  /** A call appends one line, so a call that ran twice is visible in the file. */
  const createNote = (name: string, approval: "always" | "never") =>
    defineTool({
      name,
      description: "Notes a key.",
      input: z.object({ key: z.string() }),
      approval,
      async execute({ key }) {
        appendFileSync(notes, `${key}\n`);
        await setTimeout(partMs);
        return `noted ${key}`;
      },
    });

  /** Depends only on the prompt: after a crash, another process continues. */
  function answer({ prompt }: ScriptedRequest) {
    if (prompt.at(-1)?.role === "tool") return { text };
    const message = prompt.findLast(({ role }) => role === "user");
    // A message without an answer, for example a cancelled one, is joined with the next one. The last key counts.
    const key =
      JSON.stringify(message?.content)
        .match(/m-[\w-]+/g)
        ?.at(-1) ?? "?";
    const name = key.endsWith("-ask") ? "note_if_allowed" : "note";
    return { text: "I note it. ", calls: [{ name, input: { key } }] };
  }

  return agent({
    model: createPacedModel(answer, () => setTimeout(partMs), paced),
    tools: [createNote("note", "never"), createNote("note_if_allowed", "always")],
  });
}
