/** Agents request values as structured output where the model supports it, and in their text where it does not. */
import { expect, it } from "vitest";
import { agent, type AgentOptions } from "../../src/agents/index.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import type { ScriptedRequest } from "../../src/models/scripted-model.ts";
import type { Json } from "../../src/protocol/index.ts";

const schemaOf = ({ responseFormat }: ScriptedRequest) =>
  (
    responseFormat as {
      readonly name?: string;
      readonly schema?: { readonly properties: { readonly [name: string]: Json } };
    }
  )?.schema;
const nameOf = ({ responseFormat }: ScriptedRequest) =>
  (responseFormat as { readonly name?: string } | undefined)?.name;

/** Answers each format with a value of its schema. */
const ANSWERS: { readonly [format: string]: Json } = {
  next_steps: { steps: ["one", "two"] },
  rating: { why: "good", score: 0.8, solved: true },
  vote: { why: "good", best: 2, solved: true },
  plan: {
    why: "two parts",
    nodes: [
      { id: "a", task: "do a", needs: [], operation: "generate" },
      { id: "b", task: "do b", needs: [], operation: "generate" },
      { id: "best", task: "choose", needs: ["a", "b"], operation: "score" },
    ],
  },
  complexity: { why: "simple", complex: false },
  scores: { why: "b", scores: { a: 0.1, b: 0.9 } },
};

function createModel(isRejecting = false): ScriptedModel {
  return new ScriptedModel((request) => {
    const name = nameOf(request);
    if (name === undefined) {
      const asked = JSON.stringify(request.prompt.at(-1));
      const wanted = Object.entries({ steps: "next_steps", score: "rating", scores: "scores", nodes: "plan" });
      const found = isRejecting ? wanted.find(([field]) => asked.includes(`{\\"${field}\\"`))?.[1] : undefined;
      return { text: found === undefined ? "Done." : `Here: ${JSON.stringify(ANSWERS[found])}` };
    }
    if (isRejecting) {
      const error = Object.assign(new Error("response_format is not supported"), { statusCode: 400 });
      return { fault: { kind: "throw", error } };
    }
    return { text: JSON.stringify(ANSWERS[name]) };
  });
}

const KINDS: readonly (readonly [options: AgentOptions, formats: readonly string[]])[] = [
  [{ kind: "tot", evaluate: "value" }, ["next_steps", "rating", "rating"]],
  [{ kind: "tot", evaluate: "vote", evaluations: 1 }, ["next_steps", "vote"]],
  [{ kind: "got" }, ["plan", "scores"]],
  [{ kind: "got", adaptive: true }, ["plan", "complexity", "complexity", "scores"]],
];

it.each(KINDS)("%o requests every value with a schema", async (options, formats) => {
  const model = createModel();
  await using helper = agent({ ...options, model });
  expect((await helper.run("Which way?")).reply).toBe("Done.");
  expect(model.requests.flatMap((request) => nameOf(request) ?? []).toSorted()).toEqual(formats.toSorted());
  for (const request of model.requests.filter((one) => nameOf(one) !== undefined)) {
    const schema = schemaOf(request);
    // As strict providers demand: closed objects, and every field required.
    expect(schema).toMatchObject({
      type: "object",
      additionalProperties: false,
      required: Object.keys(schema?.properties ?? {}),
    });
  }
});

it("asks without the format after a provider rejected it, and does not request it again", async () => {
  const model = createModel(true);
  await using helper = agent({ kind: "tot", model, callOptions: { maxRetries: 0 } });
  const { reply, status } = await helper.run("Which way?");
  expect([reply, status]).toEqual(["Done.", "completed"]);
  expect(model.requests.filter((request) => nameOf(request) !== undefined)).toHaveLength(1);
});
