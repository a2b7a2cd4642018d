// Tools and structured output with the real schema libraries besides zod: types, JSON Schema, validation, hints.
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, expectTypeOf, it } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import { defineTool } from "../../src/tools/index.ts";

interface City {
  city: string;
  people?: number;
}

const VALIBOT = toStandardJsonSchema(v.object({ city: v.string(), people: v.optional(v.number()) }));
const ARKTYPE = type({ city: "string", "people?": "number" });
const LIBRARIES = [
  ["valibot", VALIBOT],
  ["arktype", ARKTYPE],
] as const;
const CITY_SCHEMA = {
  type: "object",
  properties: { city: { type: "string" }, people: { type: "number" } },
  required: ["city"],
};

describe("types", () => {
  it("are inferred from a schema of valibot", async () => {
    defineTool({
      name: "t",
      description: "",
      input: VALIBOT,
      needsApproval: (input) => input.city === "",
      execute: (input) => void expectTypeOf(input).toEqualTypeOf<{ city: string; people?: number | undefined }>(),
    });
    const length = toStandardJsonSchema(
      v.object({
        word: v.pipe(
          v.string(),
          v.transform((word) => word.length),
        ),
      }),
    );
    await using actor = agent({ model: new ScriptedModel([{ text: '{"word":"four"}' }]) });
    const { output } = await actor.run("Which word?", { output: length });
    expectTypeOf(output).toEqualTypeOf<{ word: number }>();
    expect(output).toEqual({ word: 4 });
  });

  it("are inferred from a schema of arktype", async () => {
    defineTool({
      name: "t",
      description: "",
      input: ARKTYPE,
      needsApproval: (input) => input.city === "",
      execute: (input) => void expectTypeOf(input).toEqualTypeOf<City>(),
    });
    const day = type({ day: "string.date.iso.parse" });
    await using actor = agent({ model: new ScriptedModel([{ text: '{"day":"2030-01-02"}' }]) });
    const { output } = await actor.run("Which day?", { output: day });
    expectTypeOf(output).toEqualTypeOf<{ day: Date }>();
    expect(output.day.toISOString()).toBe("2030-01-02T00:00:00.000Z");
  });
});

describe.each(LIBRARIES)("%s", (_name, schema) => {
  it("describes a tool for the model, and validates its arguments", async () => {
    const received: unknown[] = [];
    const lookUp = defineTool({
      name: "look_up",
      description: "Looks up a city.",
      input: schema as typeof ARKTYPE,
      execute: ({ city }) => {
        received.push(city);
        return `${city} is large`;
      },
    });
    expect(lookUp.inputSchema).toEqual(CITY_SCHEMA);
    const model = new ScriptedModel([
      { calls: [{ name: "look_up", input: { city: 7 }, id: "c1" }] },
      { calls: [{ name: "look_up", input: { city: "Oslo", people: 717_000 }, id: "c2" }] },
      { text: "Large." },
    ]);
    await using actor = agent({ model, tools: [lookUp] });
    await actor.run("How large is Oslo?");
    expect(received).toEqual(["Oslo"]);
    expect(JSON.stringify(model.prompts[1]?.at(-1))).toMatch(/`city`.*string/i);
    expect(JSON.stringify(model.prompts[2]?.at(-1))).toContain("Oslo is large");
  });

  it("gives structured output, complete and in parts, and asks again after a reply that does not match", async () => {
    const model = new ScriptedModel([
      { text: '{"city":7}' },
      { text: '{"city":"Oslo"}' },
      { text: '{"city":"Bergen"}', chunk: 12 },
    ]);
    await using actor = agent({ model });
    const { output } = await actor.run("Capital?", { output: schema as typeof ARKTYPE });
    expect(output).toEqual({ city: "Oslo" });
    expect(model.requests[0]?.responseFormat).toMatchObject({
      schema: { ...CITY_SCHEMA, additionalProperties: false },
    });
    expect(JSON.stringify(model.prompts[1]?.at(-1))).toMatch(/`city`.*string/i);
    const seen: unknown[] = [];
    for await (const event of actor.events("And then?", { output: schema as typeof ARKTYPE }))
      if (event.type === "partial_output" || event.type === "output") seen.push([event.type, event.output]);
    expect(seen[0]).toEqual(["partial_output", { city: "Ber" }]);
    expect(seen.at(-1)).toEqual(["output", { city: "Bergen" }]);
  });
});

describe("a schema without JSON Schema", () => {
  const plain = v.object({ city: v.string() });
  const HINT =
    /valibot does not produce JSON Schema; install `@valibot\/to-json-schema`.*`toStandardJsonSchema\(schema\)`/;

  it("is refused with what to install", async () => {
    expect(() => defineTool({ name: "t", description: "", input: plain, execute: () => "" })).toThrow(HINT);
    await using actor = agent({ model: new ScriptedModel([]) });
    await expect(actor.run("Capital?", { output: plain })).rejects.toThrow(HINT);
  });

  it("works with the JSON Schema beside it", async () => {
    await using actor = agent({ model: new ScriptedModel([{ text: '{"city":"Oslo"}' }]) });
    const { output } = await actor.run("Capital?", { output: plain, outputSchema: CITY_SCHEMA });
    expect(output).toEqual({ city: "Oslo" });
  });
});
