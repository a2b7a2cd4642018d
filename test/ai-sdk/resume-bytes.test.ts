// What a resume in the middle of a long answer costs: one whole message for clients that resume by the ID of the chat, and
// only the rest for those that know their position.
import { expect, it } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { createSseDecoder } from "../../src/framing/index.ts";
import { LONG } from "../sampling.ts";
import { createPacedModel } from "../server/paced-model.ts";
import { createServerFixture, type ServerFixture } from "../server/server-fixture.ts";

const TOKENS = LONG ? 10_000 : 2000;
const TOKEN = "word ";

type Fetch = ServerFixture["fetch"];

/** Counts the bytes of frames, without comments that keep the connection open. Stops after `maxDeltas` tokens. */
async function count(response: Response, maxDeltas = Infinity) {
  const decoder = createSseDecoder();
  const sent = { bytes: 0, deltas: 0, cursor: "" };
  for await (const piece of response.body ?? []) {
    for (const frame of decoder.push(piece)) {
      if (!frame.ok) throw new Error("The stream has a frame that cannot be read");
      const { text, id = "" } = frame;
      sent.bytes += Buffer.byteLength(`id: ${id}\ndata: ${text}\n\n`);
      sent.cursor = id;
      if (text.startsWith('{"type":"text-delta"')) sent.deltas++;
      if (sent.deltas >= maxDeltas) return sent;
    }
  }
  return sent;
}

async function startAnswer(fetch: Fetch): Promise<Response> {
  const message = { id: "u1", role: "user", parts: [{ type: "text", text: "Talk" }] };
  const headers = { "content-type": "application/json" };
  return fetch("/api/chat", { method: "POST", headers, body: JSON.stringify({ id: "c", messages: [message] }) });
}

it(`sends at most one full message to a client that resumes in the middle of ${TOKENS} tokens`, async () => {
  const gate = Promise.withResolvers<void>();
  const script = [{ text: TOKEN.repeat(TOKENS) }];
  const model = createPacedModel(script, (part) => (part === TOKENS / 2 + 10 ? gate.promise : undefined), {
    chunk: TOKEN.length,
  });
  const { fetch } = await createServerFixture({ agents: { main: agent({ model }) } });
  const live = await startAnswer(fetch);
  const path = `/api/chat/${live.headers.get("x-workflow-run-id")}/stream`;
  const half = await count(live, TOKENS / 2);
  const resumed = fetch("/api/chat/c/stream").then(count);
  const continued = fetch(path, { headers: { "last-event-id": half.cursor } }).then(count);
  const indexed = fetch(`${path}?startIndex=${TOKENS / 2}`).then(count);
  gate.resolve();
  const [byChat, byCursor, byIndex] = await Promise.all([resumed, continued, indexed]);
  const whole = await count(await fetch("/api/chat/c/stream"));
  expect(whole.deltas).toBe(TOKENS);
  expect(byChat.deltas).toBe(TOKENS);
  expect(byChat.bytes).toBeLessThanOrEqual(whole.bytes);
  expect(byCursor.deltas).toBe(TOKENS / 2);
  expect(half.bytes + byCursor.bytes).toBe(whole.bytes);
  expect(byIndex.bytes).toBeLessThan(whole.bytes * 0.51);
});
