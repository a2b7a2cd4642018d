// The fields of our objects, compared with the types of the `openai` package when this file is compiled, and the objects
// of a server compared with the fields that these types require.
import type { ChatCompletion, ChatCompletionChunk } from "openai/resources/chat/completions";
import type { Response as OpenaiResponse, ResponseStreamEvent } from "openai/resources/responses/responses";
import { describe, expect, it } from "vitest";
import { describeQueuedResponse } from "../../src/dialects/openai-responses/sent-response.ts";
import type { OpenaiResponsesFrameType } from "../../src/dialects/openai-responses/frames.ts";
import { collect, createOpenaiFixture } from "./openai-fixture.ts";

/** Names of the fields that a type requires. */
type RequiredKey<T> = { [K in keyof T]-?: undefined extends T[K] ? never : K }[keyof T];
/** A list with every required field of a type; a missing or another name does not compile. */
type Fields<T> = { readonly [K in RequiredKey<T> & string]: true };

/** `access_programs` concerns models of OpenAI; `output_text` is added by the client. */
const RESPONSE = {
  id: true,
  created_at: true,
  error: true,
  incomplete_details: true,
  instructions: true,
  metadata: true,
  model: true,
  object: true,
  output: true,
  parallel_tool_calls: true,
  temperature: true,
  tool_choice: true,
  tools: true,
  top_p: true,
} satisfies Fields<Omit<OpenaiResponse, "access_programs" | "output_text">>;

const COMPLETION = {
  id: true,
  choices: true,
  created: true,
  model: true,
  object: true,
} satisfies Fields<ChatCompletion>;
const CHOICE = { finish_reason: true, index: true, logprobs: true, message: true } satisfies Fields<
  ChatCompletion["choices"][number]
>;
const MESSAGE = { content: true, refusal: true, role: true } satisfies Fields<
  ChatCompletion["choices"][number]["message"]
>;
const CHUNK = {
  id: true,
  choices: true,
  created: true,
  model: true,
  object: true,
} satisfies Fields<ChatCompletionChunk>;
const CHUNK_CHOICE = { delta: true, finish_reason: true, index: true } satisfies Fields<
  ChatCompletionChunk["choices"][number]
>;

type EventOfType<T extends string> = Extract<ResponseStreamEvent, { readonly type: T }>;
const DELTA = {
  type: true,
  sequence_number: true,
  item_id: true,
  output_index: true,
  content_index: true,
  delta: true,
  logprobs: true,
} satisfies Fields<EventOfType<"response.output_text.delta">>;

/** The values of the fields that our code sets, in the types of the package. */
const queued = describeQueuedResponse("resp_1", { status: "queued", model: "main" });
const typed: Pick<OpenaiResponse, "id" | "created_at" | "model" | "parallel_tool_calls" | "temperature" | "top_p"> =
  queued;
const status: NonNullable<OpenaiResponse["status"]> = queued.status;

/** Types that we send and the package does not declare. Its stream helper ignores `keepalive`. */
type Undeclared = Exclude<OpenaiResponsesFrameType, ResponseStreamEvent["type"]>;
const UNDECLARED: { readonly [T in Undeclared]: true } = { keepalive: true };

const names = (fields: object): readonly string[] => Object.keys(fields);

describe("objects of the server", () => {
  it("have the fields that the types of the client require", async () => {
    const turn = { reasoning: "I think.", text: "Hello." };
    const { client } = await createOpenaiFixture([turn, turn, turn]);
    const messages = [{ role: "user" as const, content: "Hi" }];
    expect(names(queued)).toEqual(expect.arrayContaining([...names(RESPONSE)]));
    expect([typed.id, status, names(UNDECLARED)]).toEqual(["resp_1", "queued", ["keepalive"]]);
    const events = await collect(await client.responses.create({ model: "main", input: "Hi", stream: true }));
    for (const event of events) {
      if ("response" in event) expect(names(event.response)).toEqual(expect.arrayContaining([...names(RESPONSE)]));
      if (event.type === "response.output_text.delta")
        expect(names(event)).toEqual(expect.arrayContaining([...names(DELTA)]));
    }
    const completion = await client.chat.completions.create({ model: "main", messages });
    const [choice] = completion.choices;
    expect(names(completion)).toEqual(expect.arrayContaining([...names(COMPLETION)]));
    expect(names(choice ?? {})).toEqual(expect.arrayContaining([...names(CHOICE)]));
    expect(names(choice?.message ?? {})).toEqual(expect.arrayContaining([...names(MESSAGE)]));
    for (const chunk of await collect(
      await client.chat.completions.create({ model: "main", messages, stream: true }),
    )) {
      expect(names(chunk)).toEqual(expect.arrayContaining([...names(CHUNK)]));
      for (const each of chunk.choices) expect(names(each)).toEqual(expect.arrayContaining([...names(CHUNK_CHOICE)]));
    }
  });
});
