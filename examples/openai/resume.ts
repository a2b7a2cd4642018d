// Uses an agent of `npx loom serve` with the package openai: a conversation of two responses, a stream that is cut in the
// middle and continued exactly where it stopped, and a response in the background.
//
//   npm install openai
//   npx loom serve
//   node examples/openai/resume.ts [URL]
import OpenAI from "openai";

const [url = "http://127.0.0.1:10338"] = process.argv.slice(2);
// A server without authentication accepts any key; otherwise use a token of `loom token`.
const client = new OpenAI({ baseURL: `${url}/openai/v1`, apiKey: process.env["LOOM_TOKEN"] ?? "none" });
const model = "react";

const first = await client.responses.create({ model, input: "What is 17*23?" });
console.log(first.output_text);

// Stops reading after a few events, as if the connection were cut.
const stream = await client.responses.create({
  model,
  input: "Tell me a joke",
  previous_response_id: first.id,
  stream: true,
});
const events: OpenAI.Responses.ResponseStreamEvent[] = [];
let id = "";
for await (const event of stream) {
  if (event.type === "response.created") id = event.response.id;
  if (events.push(event) === 6) break;
}
const starting_after = events.length - 1;
const rest = await client.responses.retrieve(id, { stream: true, starting_after });
for await (const event of rest) events.push(event);
console.log(events.flatMap((event) => (event.type === "response.output_text.delta" ? [event.delta] : [])).join(""));
console.log(`${events.length} events, none missing: ${events.every((event, n) => event.sequence_number === n)}`);

const background = await client.responses.create({ model, input: "What is 6*7?", background: true });
let { status, output_text: text } = background;
while (status === "queued" || status === "in_progress") {
  await new Promise((resolve) => setTimeout(resolve, 100));
  ({ status, output_text: text } = await client.responses.retrieve(background.id));
}
console.log(status, text);
