// Instructions and structured output of runs over HTTP.
import { describe, expect, it } from "vitest";
import { agent } from "../../src/agents/index.ts";
import type { JsonObject } from "../../src/protocol/index.ts";
import type { Script } from "../../src/models/scripted-model.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import { createServerFixture, readSse } from "./server-fixture.ts";

const post = (body: unknown, headers: { readonly [name: string]: string } = {}): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json", accept: "text/event-stream", ...headers },
  body: JSON.stringify(body),
});
const CITY = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const read = async (response: Response): Promise<readonly JsonObject[]> =>
  (await readSse(response)).map(({ data }) => JSON.parse(data) as JsonObject);

async function serve(script: Script) {
  const model = new ScriptedModel(script);
  return { model, ...(await createServerFixture({ agents: { main: agent({ model }) } })) };
}

describe("a message over HTTP", () => {
  it("brings instructions for its run, which the stream shows in `run_start` only", async () => {
    const { fetch, model } = await serve([{ text: "Oui." }, { text: "Yes." }]);
    const frames = await read(
      await fetch("/v1/sessions/s/runs", post({ message: "Is it?", instructions: "Answer in French." })),
    );
    expect(frames[0]).toMatchObject({ type: "run_start", message: "Is it?", instructions: "Answer in French." });
    expect(JSON.stringify(frames.slice(1))).not.toContain("French");
    expect(JSON.stringify(model.prompts[0]?.[0])).toContain("French");
    await read(await fetch("/v1/sessions/s/runs", post({ message: "Sure?" })));
    expect(JSON.stringify(model.prompts[1])).not.toContain("French");
  });

  it("returns the same run if its key is repeated with other instructions", async () => {
    const { fetch, model } = await serve([{ text: "Oui." }]);
    const ask = async (instructions: string) => {
      const key = { "idempotency-key": "k" };
      return read(await fetch("/v1/sessions/s/runs", post({ message: "Is it?", instructions }, key)));
    };
    const first = await ask("It is 12:00.");
    expect(await ask("It is 12:01.")).toEqual(first);
    expect(model.requests).toHaveLength(1);
  });

  it("asks for structured output, which is checked before it is sent", async () => {
    const script = [{ text: "Oslo" }, { text: '```json\n{"city": "Oslo"}\n```' }];
    const { fetch } = await serve(script);
    const frames = await read(await fetch("/v1/sessions/s/runs", post({ message: "Where?", output_schema: CITY })));
    expect(frames[0]).toMatchObject({ output_schema: CITY });
    expect(frames.at(-1)).toMatchObject({ reply: '{"city":"Oslo"}' });
    const shown = frames.filter(({ type, channel }) => type === "message_chunk" && channel !== "thought");
    expect(shown).toEqual([]);
  });

  it("fails if the model does not return the output", async () => {
    const { fetch } = await serve([{ text: "Oslo" }, { text: "{}" }]);
    const frames = await read(await fetch("/v1/sessions/s/runs", post({ message: "Where?", output_schema: CITY })));
    expect(frames.at(-2)).toMatchObject({ type: "run_end", status: "error", code: "model_output_invalid" });
  });

  it.each<[string, JsonObject, string]>([
    ["a schema that cannot be checked", { output_schema: { uniqueItems: true } }, "invalid_command"],
    ["a schema of more than 32 KiB", { output_schema: { title: "x".repeat(33_000) } }, "invalid_command"],
    ["a schema that is too deep", { output_schema: nest(65) }, "invalid_command"],
    ["a schema that is not an object", { output_schema: [] as never }, "invalid_request"],
    ["instructions of more than 32 KiB", { instructions: "x".repeat(33_000) }, "invalid_command"],
    ["instructions that are not text", { instructions: 1 }, "invalid_request"],
    ["a schema for an agent without structured output", { output_schema: CITY, agent: "tree" }, "invalid_command"],
  ])("is refused with %s, and starts nothing", async (_name, more, code) => {
    const model = new ScriptedModel([]);
    const agents = { main: agent({ model }), tree: agent({ model, kind: "tot" }) };
    const { fetch, log } = await createServerFixture({ agents });
    const response = await fetch("/v1/sessions/s/runs", post({ message: "Where?", ...more }));
    expect([response.status, await response.json()]).toEqual([400, expect.objectContaining({ code })]);
    expect(await log.getSession("s")).toBeUndefined();
    expect(model.requests).toEqual([]);
  });
});

function nest(depth: number): JsonObject {
  return depth === 0 ? {} : { items: nest(depth - 1) };
}
