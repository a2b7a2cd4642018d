// The connection of the real `openai` client is cut after each event. What it has received, and what it reads with
// `starting_after`, is the same as the stream of an uncut run, and a cut is never mistaken for the end.
import OpenAI from "openai";
import type { ResponseStreamEvent } from "openai/resources/responses/responses";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { ScriptedRequest, ScriptedTurn } from "../../src/models/scripted-model.ts";
import { FAULT_SAMPLES } from "../sampling.ts";
import { type FaultPlan, startFaultProxy } from "../server/fault-proxy.ts";
import { collect, createOpenaiFixture } from "./openai-fixture.ts";

/** Every position in the long run, a few otherwise. */
const STRIDE = Math.min(FAULT_SAMPLES.step, 9);

const TURNS = [
  { reasoning: "I add.", calls: [{ name: "add", input: { a: 1, b: 2 } }] },
  { text: "It is three.", chunk: 4 },
];

async function createCutFixture() {
  let target = "";
  const proxy = await startFaultProxy(
    () => target,
    () => undefined,
  );
  onTestFinished(() => proxy.close());
  const script = ({ prompt }: ScriptedRequest): ScriptedTurn =>
    (prompt.at(-1)?.role === "tool" ? TURNS[1] : TURNS[0]) as ScriptedTurn;
  const fixture = await createOpenaiFixture(script, { hosts: [`127.0.0.1:${proxy.port}`] });
  target = fixture.baseURL;
  const client = new OpenAI({ baseURL: `${proxy.url}/openai/v1`, apiKey: "any", maxRetries: 0 });
  const cutAfter =
    (frames: number): FaultPlan =>
    (index) =>
      index === 0 ? { breach: { frames, how: "end" } } : undefined;
  return { ...fixture, proxy, client, cutAfter };
}

/** The events until the stream ends or breaks, and the error. */
async function readUntilCut(stream: AsyncIterable<ResponseStreamEvent>) {
  const events: ResponseStreamEvent[] = [];
  try {
    for await (const event of stream) events.push(event);
    return { events, error: undefined };
  } catch (error) {
    return { events, error };
  }
}

/** Events without what differs between two runs: IDs, times, durations and counted tokens. */
function normalize(events: readonly ResponseStreamEvent[]): unknown {
  const text = JSON.stringify(events.filter(({ type }) => type !== "response.created"));
  return JSON.parse(
    text
      .replaceAll(/"(?:resp|msg|rs|mcp)_[\w-]+"/g, '"id"')
      .replaceAll(/"(?:created_at|duration_ms|ts|time|expires_at|\w+_tokens)":[\d.]+/g, '"time":0')
      .replaceAll(/"call_id":"[^"]+"/g, '"call_id":""'),
  ) as unknown;
}

describe("a connection that is cut", () => {
  it("is continued exactly with `starting_after`, wherever it was cut", { timeout: 120_000 }, async () => {
    const { proxy, client, cutAfter } = await createCutFixture();
    const ask = () => client.responses.create({ model: "main", input: "1 + 2?", stream: true });
    const whole = await collect(await ask());
    for (let frames = 1; frames < whole.length; frames += STRIDE) {
      proxy.setPlan(cutAfter(frames));
      const { events } = await readUntilCut(await ask());
      expect(events).toHaveLength(frames);
      const [created] = events;
      const id = created?.type === "response.created" ? created.response.id : "";
      const starting_after = events.at(-1)?.sequence_number ?? 0;
      const rest = await collect(await client.responses.retrieve(id, { stream: true, starting_after }));
      expect(normalize([...events, ...rest])).toEqual(normalize(whole));
    }
  });

  it("leaves the helper with a response in progress, or an error, never with a complete one", async () => {
    const { proxy, client, cutAfter } = await createCutFixture();
    const whole = await collect(await client.responses.create({ model: "main", input: "1 + 2?", stream: true }));
    for (let frames = 1; frames < whole.length; frames += STRIDE) {
      proxy.setPlan(cutAfter(frames));
      const helper = client.responses.stream({ model: "main", input: "1 + 2?" });
      const final = await helper.finalResponse().catch((error: unknown) => error);
      if (!(final instanceof Error)) expect(final).toMatchObject({ status: "in_progress" });
    }
  });

  it("makes the chat helper fail", async () => {
    const { proxy, client, cutAfter } = await createCutFixture();
    const ask = () =>
      client.chat.completions.stream({ model: "main", messages: [{ role: "user", content: "1 + 2?" }] });
    expect((await ask().finalChatCompletion()).choices[0]?.message.content).toBe("It is three.");
    for (const frames of STRIDE === 1 ? Array.from({ length: 12 }, (_, index) => index + 1) : [1, 6, 12]) {
      proxy.setPlan(cutAfter(frames));
      await expect(ask().finalChatCompletion()).rejects.toBeInstanceOf(Error);
    }
  });

  it("breaks the body when the server stops, which every client takes for an error", async () => {
    for (const [path, input] of [
      ["/responses", { input: "Wait" }],
      ["/chat/completions", { messages: [{ role: "user", content: "Wait" }] }],
    ] as const) {
      const { baseURL, server, ran } = await createOpenaiFixture([{ calls: [{ name: "wait", input: {} }] }]);
      const response = await fetch(`${baseURL}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ model: "main", stream: true, ...input }),
      });
      const body = response.text().catch((error: unknown) => error);
      await vi.waitFor(() => expect(ran).toHaveLength(1), { timeout: 10_000 });
      await server.close({ graceMs: 0 });
      expect(await body).toBeInstanceOf(Error);
    }
  });
});
