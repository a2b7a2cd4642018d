// Reads what the encoder writes with the real package `ai`: every chunk matches its schema, and its reader builds the
// message that the records describe.
import { readUIMessageStream, type UIMessage, type UIMessageChunk, uiMessageChunkSchema } from "ai";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SAMPLES } from "../../../test/sampling.ts";
import { sessionArbitrary } from "../../../test/run-arbitrary.ts";
import { listVectorFiles, readVector } from "../../../test/vectors.ts";
import {
  type AnyEvent,
  type EventOf,
  isKnownEvent,
  type JsonObject,
  type StampedRecord,
} from "../../protocol/index.ts";
import { createStamper } from "../stamp.ts";
import { createAiSdkEncoder } from "./encode.ts";
import { UiMessageFold } from "./ui-message-fold.ts";

const { validate } = uiMessageChunkSchema();

async function encode(records: readonly StampedRecord[]): Promise<readonly UIMessageChunk[]> {
  const encoder = createAiSdkEncoder();
  const chunks = records.flatMap((record) => encoder.encode(record)).map((text) => JSON.parse(text) as UIMessageChunk);
  for (const chunk of chunks) {
    const checked = await validate?.(chunk);
    expect(checked, JSON.stringify(chunk)).toMatchObject({ success: true });
  }
  return chunks;
}

/** Reads the message of one run, as clients do. Fails where they would stop. */
async function readMessage(records: readonly StampedRecord[]): Promise<{ message: UIMessage; error?: string }> {
  const chunks = await encode(records);
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  let message: UIMessage | undefined;
  const errors: unknown[] = [];
  for await (const state of readUIMessageStream({ stream, onError: (error) => void errors.push(error) }))
    message = state;
  const [error, ...more] = errors.map(String);
  expect(more).toEqual([]);
  if (message === undefined) throw new Error("The stream has no message");
  const fold = new UiMessageFold();
  for (const chunk of chunks) fold.add(chunk as unknown as JsonObject);
  // The AI SDK reports no state for a step that has no parts yet.
  const folded = fold.finish();
  const isStepEmpty = folded.parts.at(-1)?.["type"] === "step-start";
  expect(isStepEmpty ? { ...folded, parts: folded.parts.slice(0, -1) } : folded).toEqual(
    JSON.parse(JSON.stringify(message)),
  );
  return { message, ...(error === undefined ? {} : { error }) };
}

function textOf({ parts }: UIMessage): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
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

function findAll<T extends AnyEvent["type"]>(records: readonly StampedRecord[], type: T) {
  return records.flatMap(({ event }) => (isKnownEvent(event) && event.type === type ? [event] : []));
}

const VECTORS = listVectorFiles("runs").map(readVector);

describe("ai-sdk: messages", () => {
  test.each(VECTORS.map((vector) => [vector.name, vector] as const))(
    "a client reads the run %s",
    async (_name, { records }) => {
      const stamped = records.flat().map(createStamper());
      const runs = Map.groupBy(stamped, ({ envelope }) => envelope.run_id ?? "");
      for (const run of runs.values()) {
        // Records outside a run have no message.
        if ((await encode(run)).length > 0) await readMessage(run);
      }
    },
  );

  test("a client reads any session, and the text of each run is complete", async () => {
    await fc.assert(
      fc.asyncProperty(sessionArbitrary, async (records) => {
        const runs = Map.groupBy(
          records.filter(({ envelope }) => envelope.run_id !== undefined),
          ({ envelope }) => envelope.run_id as string,
        );
        for (const [runId, run] of runs) {
          const { message } = await readMessage(run);
          expect(message.id).toBe(runId);
          const streamed = findAll(run, "message_chunk") as EventOf<"message_chunk">[];
          const text = streamed.flatMap(({ content, channel }) => (channel === "thought" ? [] : [content])).join("");
          expect(textOf(message).slice(0, text.length).length).toBe(text.length);
          const open = message.parts.filter((part) => "state" in part && part.state === "streaming");
          expect(open).toEqual([]);
        }
      }),
      { numRuns: SAMPLES.sessions },
    );
  });

  test("shows only the last attempt of an answer that a crash interrupted", async () => {
    const killed = VECTORS.find(({ name }) => name === "agent-killed-mid-answer");
    const { message, error } = await readMessage((killed?.records ?? []).flat().map(createStamper()));
    expect(error).toBeUndefined();
    expect(textOf(message)).toBe("One moment. The sum of 1 and 2 is 3.");
    expect(message.parts.filter(({ type }) => type === "step-start")).toHaveLength(2);
    expect(message.parts).toContainEqual(
      expect.objectContaining({ type: "tool-add", state: "output-available", input: { a: 1, b: 2 }, output: 3 }),
    );
  });

  test("keeps calls that ran in an interrupted step, and says that its text no longer counts", async () => {
    const { message } = await readMessage(
      stamp([
        { type: "run_start", run_id: "run-1" },
        { type: "node_enter", id: "step", node: "step-1" },
        { type: "llm_start", llm_call_id: "1", node: "step-1" },
        { type: "message_chunk", content: "I look.", id: "step", node: "step-1" },
        { type: "tool_call", call_id: "c1", name: "weather", arguments: {}, node: "step-1" },
        { type: "tool_start", call_id: "c1", name: "weather", node: "step-1" },
        { type: "tool_end", call_id: "c1", name: "weather", result: "-3", is_error: false, node: "step-1" },
        { type: "llm_end", llm_call_id: "1", finish_reason: "error", node: "step-1" },
        { type: "node_exit", id: "step", result: { Err: "interrupted" }, node: "step-1" },
        { type: "error", message: "The process ended", code: "interrupted", recoverable: true, attempt: 2 },
        { type: "node_enter", id: "step", supersedes: "step-1", attempt: 2, node: "step-2" },
        { type: "llm_start", llm_call_id: "2", node: "step-2" },
        { type: "message_chunk", content: "It is cold.", id: "step", node: "step-2" },
        { type: "run_end", status: "completed" },
        { type: "reply", reply: "It is cold.", node: "step-2" },
      ]),
    );
    const types = message.parts.map(({ type }) => type).filter((type) => type !== "data-loom-node");
    expect(types).toEqual([
      "step-start",
      "text",
      "tool-weather",
      "data-loom-error",
      "data-loom-superseded",
      "step-start",
      "text",
    ]);
    expect(message.parts).toContainEqual({ type: "data-loom-superseded", id: "step-1", data: { node_id: "step-1" } });
  });

  test("takes back a call that an interrupted step made but did not start", async () => {
    const { message } = await readMessage(
      stamp([
        { type: "run_start", run_id: "run-1" },
        { type: "node_enter", id: "step", node: "step-1" },
        { type: "llm_start", llm_call_id: "1", node: "step-1" },
        { type: "tool_call", call_id: "c1", name: "weather", arguments: {}, node: "step-1" },
        {
          type: "tool_end",
          call_id: "c1",
          name: "weather",
          result: "interrupted before it started",
          is_error: true,
          error_code: "interrupted",
          node: "step-1",
        },
        { type: "node_enter", id: "step", supersedes: "step-1", attempt: 2, node: "step-2" },
        { type: "llm_start", llm_call_id: "2", node: "step-2" },
        { type: "tool_call", call_id: "c2", name: "weather", arguments: {}, node: "step-2" },
        { type: "tool_end", call_id: "c2", name: "weather", result: "-3", is_error: false, node: "step-2" },
        { type: "run_end", status: "completed" },
        { type: "reply", reply: "" },
      ]),
    );
    const calls = message.parts.flatMap((part) => ("toolCallId" in part ? [part.toolCallId] : []));
    expect(calls).toEqual(["c2"]);
  });

  test("shows approvals, edits of a to-do list in place, and sources", async () => {
    const items = [{ id: "a", text: "Look", completed: false }];
    const { message } = await readMessage(
      stamp([
        { type: "run_start", run_id: "run-1" },
        { type: "todo_list", list_id: "l1", items },
        { type: "tool_call", call_id: "c1", name: "weather", arguments: { city: "Oslo" } },
        { type: "tool_approval", call_id: "c1", name: "weather", arguments: { city: "Oslo" } },
        { type: "tool_approval_result", call_id: "c1", name: "weather", decision: "rejected", reason: "no" },
        { type: "tool_end", call_id: "c1", name: "weather", result: "no", is_error: true, error_code: "tool_rejected" },
        { type: "todo_update", list_id: "l1", item_id: "a", completed: true },
        { type: "retrieval_complete", doc_count: 1, sources: [{ title: "X", uri: "https://x.test/" }] },
        { type: "run_end", status: "completed" },
        { type: "reply", reply: "No." },
      ]),
    );
    expect(message.parts).toMatchObject([
      { type: "step-start" },
      { type: "data-loom-todo-list", id: "l1", data: { items: [{ id: "a", completed: true }] } },
      {
        type: "tool-weather",
        toolCallId: "c1",
        state: "output-denied",
        approval: { id: "c1", approved: false, reason: "no" },
      },
      { type: "data-loom-retrieval-complete", data: { doc_count: 1 } },
      { type: "source-url", url: "https://x.test/", title: "X" },
      { type: "text", text: "No.", state: "done" },
    ]);
  });

  test.each([
    ["error", { error: "Error: Too slow" }],
    ["cancelled", {}],
  ] as const)("ends a run with the status %s, and keeps its text", async (status, expected) => {
    const records = stamp([
      { type: "run_start", run_id: "run-1" },
      { type: "message_chunk", content: "Hm", id: "think", node: "n1" },
      { type: "error", message: "A tool failed" },
      { type: "run_end", status, reason: "Too slow" },
    ]);
    const { message, ...rest } = await readMessage(records);
    expect(rest).toEqual(expected);
    expect(textOf(message)).toBe("Hm");
    expect((await encode(records)).at(-1)).toMatchObject({ type: "finish" });
  });

  test("sends no chunk that clients do not know, also if a stream had one", async () => {
    const frames = [{ type: "from-the-future" }, { type: "start" }, { type: "text-delta", id: "x", delta: "y" }, 7];
    const chunks = await encode(
      stamp([
        { type: "run_start", run_id: "run-1" },
        ...frames.map((frame) => ({ type: "foreign", dialect: "ai-sdk", frame })),
        { type: "foreign", dialect: "ai-sdk", frame: { type: "custom", kind: "acme.note" } },
        { type: "custom", value: { type: "data-weather", data: 1 } },
        { type: "custom", value: { type: "data-loom-node", data: 1 } },
      ]),
    );
    expect(chunks.map(({ type }) => type)).toEqual([
      "start",
      "start-step",
      ...frames.map(() => "data-loom-foreign"),
      "custom",
      "data-weather",
      "data-loom-custom",
    ]);
  });
});
