// Reads what the encoder writes with the stream helper of the real package `openai`, which stops at any event that it
// does not expect.
import fc from "fast-check";
import { ResponseStream } from "openai/lib/responses/ResponseStream";
import type { Response, ResponseStreamEvent } from "openai/resources/responses/responses";
import { describe, expect, test } from "vitest";
import { sessionArbitrary } from "../../../test/run-arbitrary.ts";
import { SAMPLES } from "../../../test/sampling.ts";
import { listVectorFiles, readVector } from "../../../test/vectors.ts";
import { type AnyEvent, type EventOf, isKnownEvent, type StampedRecord } from "../../protocol/index.ts";
import { parseOpenaiId } from "../openai-id.ts";
import { isAnswerChannel } from "../../protocol/record.ts";
import { createStamper } from "../stamp.ts";
import { OPENAI_RESPONSES_DECODING } from "./decode.ts";
import { createOpenaiResponsesEncoder } from "./encode.ts";

interface ReadResponse {
  readonly response: Response;
  readonly events: readonly ResponseStreamEvent[];
}

function encode(records: readonly StampedRecord[]): readonly string[] {
  const encoder = createOpenaiResponsesEncoder();
  return records.flatMap((record) => encoder.encode(record));
}

/** Reads a response as clients do. Fails where they would stop. */
async function readResponse(frames: readonly string[]): Promise<ReadResponse> {
  const bytes = new TextEncoder().encode(frames.map((frame) => `${frame}\n`).join(""));
  const runner = ResponseStream.fromReadableStream(new Blob([bytes]).stream());
  const events: ResponseStreamEvent[] = [];
  runner.on("event", (event) => void events.push(event));
  const response = await runner.finalResponse();
  return { response, events };
}

/** The frames of each response. */
function splitResponses(frames: readonly string[]): readonly (readonly string[])[] {
  const starts = frames.flatMap((frame, at) => (frame.startsWith('{"type":"response.created"') ? [at] : []));
  return starts.map((at, n) => frames.slice(at, starts[n + 1]));
}

/** Records of one run without numbers. */
function stamp(events: readonly (AnyEvent & { readonly node?: string })[]): readonly StampedRecord[] {
  return events
    .map(({ node, ...event }) => ({
      envelope: { session_id: "s", run_id: "run-1", ...(node === undefined ? {} : { node_id: node }) },
      event: event as AnyEvent,
    }))
    .map(createStamper());
}

function collectText(records: readonly StampedRecord[]): string {
  return records
    .flatMap(({ event }) => (isKnownEvent(event) && event.type === "message_chunk" ? [event] : []))
    .filter(({ channel }: EventOf<"message_chunk">) => isAnswerChannel(channel))
    .map(({ content }) => content)
    .join("");
}

const VECTORS = listVectorFiles("runs").map(readVector);

describe("openai-responses: the client", () => {
  test.each(VECTORS.map((vector) => [vector.name, vector] as const))("reads the run %s", async (_name, { records }) => {
    const stamped = records.flat().map(createStamper());
    const runs = Map.groupBy(stamped, ({ envelope }) => envelope.run_id ?? "");
    for (const run of runs.values()) {
      const frames = encode(run);
      // Runs without a name are one group here, and records outside a run have no response.
      for (const part of splitResponses(frames)) await readResponse(part);
    }
  });

  test("reads any session, and the text of each run is complete", async () => {
    await fc.assert(
      fc.asyncProperty(sessionArbitrary, async (records) => {
        const runs = Map.groupBy(
          records.filter(({ envelope }) => envelope.run_id !== undefined),
          ({ envelope }) => envelope.run_id as string,
        );
        for (const [runId, run] of runs) {
          const frames = encode(run);
          let length = 0;
          for (const part of splitResponses(frames)) {
            const { response, events } = await readResponse(part);
            expect(parseOpenaiId("response", response.id)).toMatchObject({ session: "s", run: runId });
            expect(events.map(({ sequence_number }) => sequence_number)).toEqual(part.map((_, index) => index));
            expect(response.output.filter((item) => "status" in item && item.status === "in_progress")).toEqual([]);
            length += response.output_text.length;
          }
          expect(length).toBeGreaterThanOrEqual(collectText(run).length);
        }
      }),
      { numRuns: SAMPLES.sessions },
    );
  });

  test("has only the last attempt of an answer that a crash interrupted", async () => {
    const killed = VECTORS.find(({ name }) => name === "agent-killed-mid-answer");
    const { response, events } = await readResponse(encode((killed?.records ?? []).flat().map(createStamper())));
    expect(response.status).toBe("completed");
    expect(response.output_text).toBe("One moment. The sum of 1 and 2 is 3.");
    const ended = events.flatMap((event) => (event.type === "response.output_item.done" ? [event.item] : []));
    expect(ended.filter((item) => "status" in item && item.status === "incomplete")).not.toEqual([]);
    expect(response.output.filter((item) => "status" in item && item.status === "incomplete")).toEqual([]);
    expect(response.output).toContainEqual(
      expect.objectContaining({ type: "mcp_call", name: "add", status: "completed", output: "3" }),
    );
  });

  test("keeps calls that ran in an interrupted node run, and drops calls that did not start", async () => {
    const { response } = await readResponse(
      encode(
        stamp([
          { type: "run_start", run_id: "run-1" },
          { type: "node_enter", id: "step", node: "step-1" },
          { type: "message_chunk", content: "I look.", id: "step", node: "step-1" },
          { type: "tool_call", call_id: "c1", name: "weather", arguments: {}, node: "step-1" },
          { type: "tool_end", call_id: "c1", name: "weather", result: "-3", is_error: false, node: "step-1" },
          { type: "tool_call", call_id: "c2", name: "weather", arguments: {}, node: "step-1" },
          {
            type: "tool_end",
            call_id: "c2",
            name: "weather",
            result: "",
            is_error: true,
            error_code: "interrupted",
            node: "step-1",
          },
          { type: "tool_call_chunk", call_id: "c3", name: "weather", arguments_delta: "{", node: "step-1" },
          { type: "node_enter", id: "step", supersedes: "step-1", attempt: 2, node: "step-2" },
          // The same call ID again: IDs of items must differ all the same.
          { type: "tool_call", call_id: "c2", name: "weather", arguments: { a: 1 }, node: "step-2" },
          { type: "tool_end", call_id: "c2", name: "weather", result: "-4", is_error: false, node: "step-2" },
          { type: "message_chunk", content: "It is cold.", id: "step", node: "step-2" },
          { type: "run_end", status: "completed" },
          { type: "reply", reply: "It is cold.", node: "step-2" },
        ]),
      ),
    );
    expect(response.output_text).toBe("It is cold.");
    expect(response.output).toMatchObject([
      { type: "mcp_call", output: "-3", loom: { call_id: "c1" } },
      { type: "mcp_call", output: "-4", arguments: '{"a":1}', loom: { call_id: "c2" } },
      { type: "message", content: [{ text: "It is cold." }] },
    ]);
  });

  test("receives approvals, reasoning, parallel texts, usage and what has no event", async () => {
    const items = [{ id: "a", text: "Look", completed: false }];
    const frames = encode(
      stamp([
        { type: "run_start", run_id: "run-1", agent: "react" },
        { type: "todo_list", list_id: "l1", items },
        { type: "reasoning_chunk", content: "Hm", node: "n1" },
        { type: "message_chunk", content: "A", id: "x", node: "n1" },
        { type: "message_chunk", content: "B", id: "y", node: "n2" },
        { type: "message_chunk", content: "C", id: "x", node: "n1" },
        { type: "tool_call", call_id: "c1", name: "weather", arguments: { city: "Oslo" } },
        { type: "tool_approval", call_id: "c1", name: "weather", arguments: { city: "Oslo" } },
        { type: "tool_approval_result", call_id: "c1", name: "weather", decision: "approved" },
        { type: "tool_end", call_id: "c1", name: "weather", result: "No", is_error: true },
        { type: "usage", prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
        { type: "usage", prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
        { type: "error", message: "A tool failed" },
        { type: "run_end", status: "completed" },
        { type: "reply", reply: "Done", node: "n3" },
      ]),
    );
    const [asks, rest] = await Promise.all(splitResponses(frames).map(readResponse));
    expect(asks?.response).toMatchObject({ model: "react", status: "completed", output_text: "ACB" });
    expect(asks?.response.output.map(({ type }) => type)).toEqual([
      "reasoning",
      "message",
      "message",
      "mcp_approval_request",
    ]);
    expect(asks?.response.output[3]).toMatchObject({ name: "weather", arguments: '{"city":"Oslo"}' });
    expect(parseOpenaiId("approval", asks?.response.output[3]?.id)).toEqual({
      session: "s",
      run: "run-1",
      after: 0,
      call: "c1",
    });
    expect(rest?.response).toMatchObject({ status: "completed", output_text: "Done" });
    expect(rest?.response.previous_response_id).toBe(asks?.response.id);
    expect(parseOpenaiId("response", rest?.response.id)).toEqual({ session: "s", run: "run-1", after: 8 });
    expect(rest?.response.usage).toMatchObject({ input_tokens: 4, output_tokens: 3, total_tokens: 7 });
    expect(rest?.response.output).toMatchObject([
      { type: "mcp_call", arguments: '{"city":"Oslo"}', status: "failed", error: { content: [{ text: "No" }] } },
      { type: "message" },
    ]);
    const events = [...(asks?.events ?? []), ...(rest?.events ?? [])];
    const extras = events.flatMap((event) => ("loom" in event ? [(event.loom as AnyEvent).type] : []));
    expect(extras).toEqual(["todo_list", undefined, "tool_approval_result", "usage", "usage", "error"]);
  });

  test("is asked for the results of all calls that it carries out, in one response", async () => {
    const start = (call_id: string) =>
      ({ type: "tool_start", call_id, name: "locate", executor: "client", node: "n2" }) as const;
    const call = (call_id: string, name: string): AnyEvent & { node: string } => ({
      type: "tool_call",
      call_id,
      name,
      arguments: { call_id },
      node: "n1",
    });
    const end = (call_id: string, name: string): AnyEvent & { node: string } => ({
      type: "tool_end",
      call_id,
      name,
      result: "1",
      is_error: false,
      node: "n2",
    });
    const run = { type: "run_start", run_id: "run-1", client_tools: [{ name: "locate" }] } as unknown as AnyEvent;
    const records = stamp([
      run,
      call("c1", "locate"),
      call("c2", "locate"),
      call("c3", "add"),
      start("c1"),
      start("c2"),
      // The response goes on while a tool of the server runs.
      end("c3", "add"),
      // Only one of two is answered: the other is asked for again.
      end("c1", "locate"),
      end("c2", "locate"),
      { type: "run_end", status: "completed" },
      { type: "reply", reply: "Done" },
    ]);
    const responses = await Promise.all(splitResponses(encode(records)).map(readResponse));
    expect(responses.map(({ response }) => response.output)).toMatchObject([
      [
        { type: "mcp_call", name: "add", status: "completed" },
        { type: "function_call", name: "locate", arguments: '{"call_id":"c1"}', status: "completed" },
        { type: "function_call", name: "locate", arguments: '{"call_id":"c2"}', status: "completed" },
      ],
      [{ type: "function_call", name: "locate", arguments: '{"call_id":"c2"}' }],
      [{ type: "message" }],
    ]);
    const [first] = responses;
    const asked = first?.response.output[1] as { readonly call_id: string };
    expect(parseOpenaiId("call", asked.call_id)).toEqual({ session: "s", run: "run-1", after: 0, call: "c1" });
    expect(parseOpenaiId("call", first?.response.id)).toBeUndefined();
    const decoder = OPENAI_RESPONSES_DECODING.createDecoder();
    const read = encode(records).flatMap((frame) => decoder.decode(frame).records.map(({ event }) => event));
    expect(read.map(({ type }) => type)).toEqual([
      "run_start",
      "tool_call",
      "tool_call",
      "tool_start",
      "tool_call",
      "tool_start",
      "tool_start",
      "tool_end",
      "tool_end",
      "tool_end",
      "message_chunk",
      "run_end",
      "reply",
    ]);
  });

  test.each([
    ["error", "response.failed", { status: "failed", error: { code: "server_error", message: "Too slow" } }],
    ["cancelled", "response.incomplete", { status: "cancelled" }],
  ] as const)("sees that a run ended with the status %s, and keeps its text", async (status, type, expected) => {
    const { response, events } = await readResponse(
      encode(
        stamp([
          { type: "run_start", run_id: "run-1" },
          { type: "message_chunk", content: "Hm", id: "think", node: "n1" },
          { type: "tool_call", call_id: "c1", name: "weather", arguments: {}, node: "n1" },
          { type: "run_end", status, reason: "Too slow" },
        ]),
      ),
    );
    expect(events.at(-1)?.type).toBe(type);
    expect(response).toMatchObject({ ...expected, output_text: "Hm" });
    expect(response.output[1]).toMatchObject({ type: "mcp_call", status: "incomplete" });
  });

  test("sees that the model cut the answer off", async () => {
    const { response } = await readResponse(
      encode(
        stamp([
          { type: "run_start", run_id: "run-1" },
          { type: "message_chunk", content: "Hm", id: "think" },
          { type: "llm_end", llm_call_id: "1", finish_reason: "length" },
          { type: "run_end", status: "completed" },
          { type: "reply", reply: "Hm" },
        ]),
      ),
    );
    expect(response).toMatchObject({ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } });
  });

  test("sees a response that is too long as incomplete", async () => {
    const content = "x".repeat(1024 * 1024);
    const frames = encode(
      stamp([
        { type: "run_start", run_id: "run-1" },
        ...Array.from({ length: 5 }, () => ({ type: "message_chunk", content, id: "think" })),
        { type: "run_end", status: "completed" },
        { type: "reply", reply: "" },
      ]),
    );
    expect(JSON.parse(frames.at(-1) ?? "")).toMatchObject({
      type: "response.incomplete",
      response: { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } },
    });
  });
});

describe("openai-responses: what the client does not accept", () => {
  const created = { type: "response.created", response: { id: "r", output: [] } };
  const message = { type: "message", id: "m", role: "assistant", content: [] };
  const added = { type: "response.output_item.added", output_index: 0, item: message };
  const completed = { type: "response.completed", response: { id: "r", output: [] } };
  const delta = { type: "response.output_text.delta", item_id: "m", output_index: 0, content_index: 0, delta: "x" };
  const done = { type: "response.output_item.done", output_index: 0, item: message };

  test.each([
    ["openai-responses-created-first", [added]],
    ["openai-responses-id-changed", [created, { ...completed, response: { id: "q", output: [] } }]],
    ["openai-responses-item-unknown", [created, delta]],
    ["openai-responses-item-unknown", [created, added, { ...done, item: { ...message, id: "n" } }]],
    ["openai-responses-item-repeated", [created, added, added]],
    ["openai-responses-item-repeated", [created, added, { ...added, output_index: 1 }]],
    ["openai-responses-item-open", [created, added, completed]],
    ["openai-responses-type-unknown", [created, { type: "response.from_the_future" }]],
  ] as const)("%s is where the client stops", async (rule, frames) => {
    const decoder = OPENAI_RESPONSES_DECODING.createDecoder();
    const texts = frames.map((frame) => JSON.stringify(frame));
    const issues = texts.map((text) => decoder.decode(text).issues.map((issue) => issue.rule));
    expect(issues.at(-1)).toEqual([rule]);
    expect(issues.slice(0, -1).flat()).toEqual([]);
    await expect(readResponse(texts)).rejects.toBeInstanceOf(Error);
    if (frames.length > 1) await expect(readResponse(texts.slice(0, -1))).resolves.toBeDefined();
  });
});
