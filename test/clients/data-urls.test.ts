// Images as data URLs without a name, as the clients send them. No part of their content becomes a name, and none is
// refused, however its Base64 ends.
import fc from "fast-check";
import OpenAI from "openai";
import { expect, it, onTestFinished } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { MemoryLog } from "../../src/log/index.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import { createMemoryBlobStore, SERVER_LIMITS, startLoomServer } from "../../src/server/index.ts";
import { LONG, SEED } from "../sampling.ts";

const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

/** Runs of one byte give long stretches without `/`, random bytes give short ones. */
const endings = fc.oneof(
  fc.uint8Array({ maxLength: 60 }),
  fc.tuple(fc.nat(255), fc.integer({ min: 150, max: 900 })).map(([byte, length]) => new Uint8Array(length).fill(byte)),
);

const HEADERS = { "content-type": "application/json", accept: "text/event-stream" };

async function start() {
  const model = new ScriptedModel(() => ({ text: "Dot" }));
  const log = new MemoryLog();
  const agents = { main: agent({ model }) };
  const server = await startLoomServer({ log, agents, port: 0, blobs: createMemoryBlobStore(SERVER_LIMITS) });
  onTestFinished(() => server.close({ graceMs: 0 }));
  const client = new OpenAI({ baseURL: `${server.url}/openai/v1`, apiKey: "any", maxRetries: 0 });
  const library = agent({ model, log });
  onTestFinished(() => library.close());
  const send = async (path: string, body: unknown): Promise<void> => {
    const request = { method: "POST", headers: HEADERS, body: JSON.stringify(body) };
    const response = await fetch(`${server.url}${path}`, request);
    const text = await response.text();
    expect([response.status, text]).toEqual([200, expect.anything()]);
    expect(text).toContain("Dot");
  };
  const agUi = async (content: unknown): Promise<void> => {
    const about = { threadId: crypto.randomUUID(), runId: crypto.randomUUID(), state: {}, tools: [], context: [] };
    await send("/ag-ui", { ...about, messages: [{ id: "u1", role: "user", content }] });
  };
  const sends: { readonly [name: string]: (url: string) => Promise<unknown> } = {
    "chat completions": (url) =>
      client.chat.completions.create({
        model: "main",
        messages: [{ role: "user", content: [{ type: "image_url", image_url: { url } }] }],
      }),
    responses: (image_url) =>
      client.responses.create({
        model: "main",
        input: [{ role: "user", content: [{ type: "input_image", image_url, detail: "auto" }] }],
      }),
    "the AI SDK": (url) =>
      send("/api/chat", {
        id: crypto.randomUUID(),
        messages: [{ id: "u1", role: "user", parts: [{ type: "file", mediaType: "image/png", url }] }],
      }),
    "AG-UI": (value) => agUi([{ type: "image", source: { type: "url", value, mimeType: "image/png" } }]),
    "AG-UI before 1.0": (url) => agUi([{ type: "binary", mimeType: "image/png", url }]),
    "a run": (url) => send("/v1/runs", { attachments: [{ url }], message: "" }),
    "the library": (url) => library.run({ attachments: [{ url }] }),
  };
  return { model, log, sends };
}

it("images as data URLs are stored and reach the model without a name", { timeout: 120_000 }, async () => {
  const { model, log, sends } = await start();
  const check = async (name: string, ending: Uint8Array): Promise<void> => {
    const bytes = Buffer.from([...PNG, ...ending]);
    await sends[name]?.(`data:image/png;base64,${bytes.toString("base64")}`);
    const [session] = await log.listSessions({ limit: 1 });
    const { records } = await log.read(session?.sessionId ?? "", { after: 0, limit: 1 });
    const { attachments } = records.map(({ event }) => event as { readonly attachments?: unknown })[0] ?? {};
    expect(attachments).toEqual([
      { blob_id: expect.any(String) as string, media_type: "image/png", bytes: bytes.length },
    ]);
    const content = model.prompts.at(-1)?.at(-1)?.content ?? [];
    expect(content).toEqual([expect.objectContaining({ type: "file", mediaType: "image/png" })]);
    expect(content[0]).not.toHaveProperty("filename");
  };
  const property = fc.asyncProperty(fc.constantFrom(...Object.keys(sends)), endings, check);
  await fc.assert(property, { seed: SEED, numRuns: LONG ? 700 : 40 });
});
