// Structured output of one call: `run` and `events` with `output`.
import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { createFacadeFixture, expectNothingLeft, failureOf } from "../../test/agents/facade-fixture.ts";
import type { Script } from "../models/scripted-model.ts";
import { ScriptedModel } from "../models/testing.ts";
import type { StandardSchema } from "../tools/standard-schema.ts";
import { agent } from "./agent.ts";
import { OutputFormat } from "./output-format.ts";
import type { PartialOutput } from "./output-event.ts";

const City = z.object({ city: z.string(), people: z.number().transform((count) => BigInt(count)) });
const oslo = '{"city":"Oslo","people":717000}';

describe("run with `output`", () => {
  it("returns the validated and transformed value, and stores the JSON of the model", async () => {
    const { agent: actor, log } = await createFacadeFixture([{ text: oslo }]);
    const result = await actor.run("Capital?", { output: City, sessionId: "chat-1" });
    expectTypeOf(result.output).toEqualTypeOf<{ city: string; people: bigint }>();
    expect(result.output).toEqual({ city: "Oslo", people: 717_000n });
    expect(result.reply).toBe(oslo);
    await expectNothingLeft(log);
  });

  it("asks for the format of the schema where the model has one, and always says it in the prompt", async () => {
    const model = new ScriptedModel([{ text: oslo }, { text: oslo }]);
    await using actor = agent({ model, systemInstructions: "Be brief." });
    await actor.run("Capital?", { output: City });
    expect(model.requests[0]?.responseFormat).toMatchObject({
      type: "json",
      name: "output",
      schema: { type: "object", required: ["city", "people"], additionalProperties: false },
    });
    expect(model.prompts[0]?.[0]).toMatchObject({
      role: "system",
      content: expect.stringMatching(/^Be brief\.\n\n.*"city"/s) as string,
    });
    await actor.run("Capital?");
    expect(model.requests[1]?.responseFormat).toBeUndefined();
    expect(JSON.stringify(model.prompts[1])).not.toContain("people");
  });

  it("asks again with the fault if the reply does not match, once by default", async () => {
    const wrong = '{"city":"Oslo","people":"many"}';
    const { agent: actor, model } = await createFacadeFixture([{ text: wrong }, { text: oslo }]);
    const { output, reply } = await actor.run("Capital?", { output: City });
    expect(output.city).toBe("Oslo");
    expect(reply).toBe(oslo);
    expect(model.prompts[1]?.slice(-2)).toMatchObject([
      { role: "assistant", content: [{ type: "text", text: wrong }] },
      {
        role: "user",
        content: [
          { text: expect.stringMatching(/does not match.*`people`/s) as string },
          { text: expect.stringMatching(/again/) as string },
        ],
      },
    ]);
  });

  it.each<[number | undefined, number]>([
    [undefined, 2],
    [0, 1],
    [3, 4],
  ])("fails with `model_output_invalid` after %s retries", async (outputRetries, calls) => {
    const script: Script = Array.from({ length: 6 }, () => ({ text: "It is Oslo." }));
    const { agent: actor, model, log } = await createFacadeFixture(script);
    const asking = actor.run("Capital?", { output: City, ...(outputRetries === undefined ? {} : { outputRetries }) });
    expect(await failureOf(asking)).toMatchObject({
      code: "model_output_invalid",
      message: expect.stringContaining("not JSON") as string,
    });
    expect(model.requests).toHaveLength(calls);
    await expectNothingLeft(log);
  });

  it("asks again after an empty reply", async () => {
    const { agent: actor } = await createFacadeFixture([{ text: "" }, { text: oslo }]);
    expect((await actor.run("Capital?", { output: City })).output.city).toBe("Oslo");
  });

  it("calls tools before it answers", async () => {
    const { agent: actor, ran } = await createFacadeFixture([
      { calls: [{ name: "add", input: { a: 1, b: 2 } }] },
      { text: '```json\n{"sum": 3}\n```' },
    ]);
    const { output, reply } = await actor.run("Add", { output: z.object({ sum: z.number() }) });
    expect([output, reply, ran.length]).toEqual([{ sum: 3 }, '{"sum":3}', 1]);
  });

  it("ends an interrupted run, because no other process has the schema", async () => {
    const { agent: actor, log } = await createFacadeFixture([{ text: oslo }]);
    await actor.run("Capital?", { output: City, sessionId: "chat-1" });
    const { records } = await log.read("chat-1", { after: 0 });
    expect(records[0]?.event).toMatchObject({ type: "run_start", on_interruption: "fail" });
  });

  it("needs a schema, a sensible number of retries and the kind react", async () => {
    await using actor = agent({ provider: "offline" });
    await using tree = agent({ provider: "offline", kind: "tot" });
    const refused = async (options: object): Promise<object> => failureOf(actor.run("x", options));
    expect(await refused({ output: {} })).toMatchObject({ code: "invalid_arguments", details: { option: "output" } });
    expect(await refused({ output: City, outputRetries: 11 })).toMatchObject({ details: { option: "outputRetries" } });
    const opaque = { "~standard": { version: 1, vendor: "own", validate: () => ({ value: 1 }) } } as StandardSchema;
    expect(await refused({ output: opaque })).toMatchObject({ details: { option: "outputSchema" } });
    expect(await failureOf(tree.run("x", { output: City }))).toMatchObject({ code: "invalid_command" });
  });
});

describe("events with `output`", () => {
  it("yields what the model has written so far, and the validated value before the end", async () => {
    const Plan = z.object({ title: z.string(), steps: z.array(z.object({ text: z.string() })) });
    const plan = { title: "Move", steps: [{ text: "Pack" }, { text: "Drive" }] };
    const { agent: actor } = await createFacadeFixture([
      { text: '{"title": 7}' },
      { text: `Here it is:\n${JSON.stringify(plan)}`, chunk: 5 },
    ]);
    const partials: PartialOutput<z.infer<typeof Plan>>[] = [];
    const rest: string[] = [];
    let output: z.infer<typeof Plan> | undefined;
    for await (const event of actor.events("Plan", { output: Plan })) {
      if (event.type === "partial_output") {
        expectTypeOf(event.output.steps?.[0]?.text).toEqualTypeOf<string | undefined>();
        partials.push(event.output);
      } else if (event.type === "output") output = event.output;
      rest.push(event.type);
    }
    expect(output).toEqual(plan);
    expect(partials).toContainEqual({ title: 7 });
    expect(partials).toContainEqual({ title: "Mov" });
    expect(partials).toContainEqual({ title: "Move", steps: [{ text: "Pack" }, { text: "Dri" }] });
    expect(partials.at(-1)).toEqual(plan);
    expect(rest.slice(-3)).toEqual(["output", "run_end", "reply"]);
  });

  it("yields no output if the run fails", async () => {
    const { agent: actor } = await createFacadeFixture([{ text: "no" }, { text: "no" }]);
    const types: string[] = [];
    const reading = async (): Promise<void> => {
      for await (const { type } of actor.events("Plan", { output: City })) types.push(type);
    };
    expect(await failureOf(reading())).toMatchObject({ code: "model_output_invalid" });
    expect(types).not.toContain("output");
  });
});

describe("a reply", () => {
  it.each([
    [oslo, { city: "Oslo", people: 717_000 }],
    [`The answer:\n${oslo}\nGood?`, { city: "Oslo", people: 717_000 }],
    [`{"other": 1}\n${oslo}`, { city: "Oslo", people: 717_000 }],
  ])("is found in %s", async (text, json) => {
    expect(await OutputFormat.create({ output: City })?.read(text)).toEqual({ ok: true, json });
  });

  it("may be any JSON value", async () => {
    const format = OutputFormat.create({ output: z.array(z.number()), outputSchema: { type: "array" } });
    expect(await format?.read("[1, 2]")).toEqual({ ok: true, json: [1, 2] });
    expect(await OutputFormat.create({ output: z.null() })?.read("null")).toEqual({ ok: true, json: null });
  });
});
