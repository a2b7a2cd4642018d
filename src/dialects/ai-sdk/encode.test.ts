// Reads what the encoder writes with the real package `ai` in several versions: every chunk matches their schemas, and
// their readers build the message that the records describe.
import { isToolUIPart, type UIMessage, type UIMessageChunk } from "ai";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Sdk, SDKS_OF } from "../../../test/ai-sdk/sdk-versions.ts";
import { sampleCases, SAMPLES } from "../../../test/sampling.ts";
import { sessionArbitrary } from "../../../test/run-arbitrary.ts";
import { listVectorFiles, readVector } from "../../../test/vectors.ts";
import {
  type AnyEvent,
  type EventOf,
  isKnownEvent,
  type JsonObject,
  type StampedRecord,
} from "../../protocol/index.ts";
import { isAnswerChannel } from "../../protocol/record.ts";
import { createStamper } from "../stamp.ts";
import { createAiSdkEncoder } from "./encode.ts";
import { UiMessageFold } from "./ui-message-fold.ts";

/** Fields of the chunks in 5.0.0; those in brackets only since 6.0.0. The first releases of 5, 6 and 7 accept no others. */
const FIELDS: { readonly [type: string]: string } = {
  start: "messageId messageMetadata",
  "start-step": "",
  "text-start": "id",
  "text-delta": "id delta",
  "text-end": "id",
  "reasoning-start": "id",
  "reasoning-delta": "id delta",
  "reasoning-end": "id",
  "tool-input-start": "toolCallId toolName",
  "tool-input-delta": "toolCallId inputTextDelta",
  "tool-input-available": "toolCallId toolName input [title]",
  "[tool-approval-request]": "approvalId toolCallId",
  "tool-output-available": "toolCallId output [preliminary]",
  "tool-output-error": "toolCallId errorText",
  "[tool-output-denied]": "toolCallId",
  "source-url": "sourceId url title",
  file: "url mediaType providerMetadata",
  "message-metadata": "messageMetadata",
  data: "id data transient",
  error: "errorText",
  "finish-step": "",
  abort: "",
  finish: "messageMetadata [finishReason]",
};

/** Lists what the first release of a version does not know in a chunk. */
function listUnknown({ type, ...fields }: UIMessageChunk, version: number): readonly string[] {
  const name = type.startsWith("data-") ? "data" : type;
  const known = FIELDS[name] ?? (version === 6 ? FIELDS[`[${name}]`] : undefined);
  if (known === undefined) return [name];
  const names = known.split(" ");
  return Object.keys(fields).filter(
    (field) => !names.includes(field) && !(version === 6 && names.includes(`[${field}]`)),
  );
}

/** Encodes records for a version, and checks that all clients of that version accept the chunks. */
async function encode(records: readonly StampedRecord[], version = 6): Promise<readonly UIMessageChunk[]> {
  const encoder = createAiSdkEncoder({ version });
  const chunks = records.flatMap((record) => encoder.encode(record)).map((text) => JSON.parse(text) as UIMessageChunk);
  for (const chunk of chunks) {
    if (version < 7) expect(listUnknown(chunk, version), JSON.stringify(chunk)).toEqual([]);
    for (const { sdk, version: release } of SDKS_OF[version] ?? []) {
      const checked = await sdk.uiMessageChunkSchema().validate?.(chunk);
      expect(checked, `${release}: ${JSON.stringify(chunk)}`).toMatchObject({ success: true });
    }
  }
  return chunks;
}

interface ReadMessage {
  readonly message: UIMessage;
  readonly error?: string;
}

/** Reads the message of one run, as clients of a version do. Fails where one of them would stop. */
async function readMessage(records: readonly StampedRecord[], version = 6): Promise<ReadMessage> {
  const chunks = await encode(records, version);
  const read = await Promise.all((SDKS_OF[version] ?? []).map(({ sdk }) => readChunks(sdk, chunks)));
  const { message, ...rest } = read.at(-1) as ReadMessage;
  for (const other of read) expect(textOf(other.message)).toBe(textOf(message));
  const fold = new UiMessageFold();
  for (const chunk of chunks) fold.add(chunk as unknown as JsonObject);
  // The AI SDK reports no state for a step that has no parts yet.
  const folded = fold.finish();
  const isStepEmpty = folded.parts.at(-1)?.["type"] === "step-start";
  const shown = isStepEmpty ? { ...folded, parts: folded.parts.slice(0, -1) } : folded;
  // The messages of version 5 have other fields.
  if (version > 5) expect(shown).toEqual(JSON.parse(JSON.stringify(message)));
  return { message, ...rest };
}

async function readChunks({ readUIMessageStream }: Sdk, chunks: readonly UIMessageChunk[]): Promise<ReadMessage> {
  let message: UIMessage | undefined;
  const errors: unknown[] = [];
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  for await (const state of readUIMessageStream({ stream, onError: (error) => void errors.push(error) }))
    message = state;
  const [error, ...more] = errors.map(String);
  expect(more).toEqual([]);
  if (message === undefined) throw new Error("The stream has no message");
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

const VERSIONS = [5, 6, 7];

describe("ai-sdk: messages", () => {
  test.each(
    sampleCases(
      VERSIONS.flatMap((version) => VECTORS.map(({ name, records }) => ({ version, name, records }))),
      { perKind: 12, kindOf: ({ version }) => String(version) },
    ),
  )("clients of version $version read the run $name", async ({ version, records }) => {
    const stamped = records.flat().map(createStamper());
    const runs = Map.groupBy(stamped, ({ envelope }) => envelope.run_id ?? "");
    for (const run of runs.values()) {
      // Records outside a run have no message.
      if ((await encode(run, version)).length > 0) await readMessage(run, version);
    }
  });

  test.each(VERSIONS)(
    "clients of version %i read any session, and the text of each run is complete",
    async (version) => {
      await fc.assert(
        fc.asyncProperty(sessionArbitrary, async (records) => {
          const runs = Map.groupBy(
            records.filter(({ envelope }) => envelope.run_id !== undefined),
            ({ envelope }) => envelope.run_id as string,
          );
          for (const [runId, run] of runs) {
            const { message } = await readMessage(run, version);
            expect(message.id).toBe(runId);
            const streamed = findAll(run, "message_chunk") as EventOf<"message_chunk">[];
            const text = streamed
              .flatMap(({ content, channel }) => (isAnswerChannel(channel) ? [content] : []))
              .join("");
            expect(textOf(message).slice(0, text.length).length).toBe(text.length);
            const open = message.parts.filter((part) => "state" in part && part.state === "streaming");
            expect(open).toEqual([]);
          }
        }),
        { numRuns: SAMPLES.sessions },
      );
    },
  );

  test.each([
    [5, "One moment. The The sum of 1 and 2 is 3."],
    [6, "One moment. The The sum of 1 and 2 is 3."],
    [7, "One moment. The sum of 1 and 2 is 3."],
  ])(
    "for version %i: takes back the text of an answer that a crash interrupted, or marks it",
    async (version, text) => {
      const killed = VECTORS.find(({ name }) => name === "agent-killed-mid-answer");
      const { message, error } = await readMessage((killed?.records ?? []).flat().map(createStamper()), version);
      expect(error).toBeUndefined();
      expect(textOf(message)).toBe(text);
      const marks = message.parts.filter(({ type }) => type === "data-loom-superseded");
      expect(marks).toHaveLength(version === 7 ? 0 : 1);
      expect(message.parts).toContainEqual(
        expect.objectContaining({ type: "tool-add", state: "output-available", input: { a: 1, b: 2 }, output: 3 }),
      );
    },
  );

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

  test.each([
    [7, ["c2"]],
    [6, ["c1", "c2"]],
  ])("for version %i: takes back a call that an interrupted step made but did not start", async (version, expected) => {
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
      version,
    );
    const calls = message.parts.flatMap((part) => ("toolCallId" in part ? [part.toolCallId] : []));
    expect(calls).toEqual(expected);
  });

  test.each(VERSIONS)(
    "for version %i: ends calls whose arguments a crash cut off, and can then wait",
    async (version) => {
      const records = stamp([
        { type: "run_start", run_id: "run-1" },
        { type: "node_enter", id: "step", node: "step-1" },
        { type: "llm_start", llm_call_id: "1", node: "step-1" },
        { type: "tool_call_chunk", call_id: "c1", name: "remove", arguments_delta: '{"pa', node: "step-1" },
        { type: "llm_end", llm_call_id: "1", finish_reason: "error", node: "step-1" },
        { type: "node_exit", id: "step", result: { Err: "interrupted" }, node: "step-1" },
        { type: "node_enter", id: "step", supersedes: "step-1", attempt: 2, node: "step-2" },
        { type: "llm_start", llm_call_id: "2", node: "step-2" },
        { type: "llm_end", llm_call_id: "2", node: "step-2" },
        { type: "tool_call", call_id: "c2", name: "remove", arguments: {}, node: "step-2" },
        { type: "tool_approval", call_id: "c2", name: "remove", arguments: {}, node: "step-2" },
      ]);
      const { message } = await readMessage(records, version);
      const states = message.parts.flatMap((part) => (isToolUIPart(part) ? [part.state] : []));
      const asked = version === 5 ? "input-available" : "approval-requested";
      expect(states).toEqual(version === 7 ? [asked] : ["output-error", asked]);
      expect((await encode(records, version)).map(({ type }) => type)).toContain("data-loom-waiting");
    },
  );

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
        approval: { id: "c1" },
      },
      { type: "data-loom-retrieval-complete", data: { doc_count: 1 } },
      { type: "source-url", url: "https://x.test/", title: "X" },
      { type: "text", text: "No.", state: "done" },
    ]);
  });

  test.each([
    [5, ["input-available", "input-available", "output-available"]],
    [6, ["approval-requested", "input-available", "output-available"]],
    [7, ["approval-requested", "approval-responded", "output-available"]],
  ])("for version %i: shows a call that the user allows as running, with what was allowed", async (version, states) => {
    const records = stamp([
      { type: "run_start", run_id: "run-1" },
      { type: "tool_call", call_id: "c1", name: "remove", arguments: { path: "a" }, description: "Removes a file" },
      { type: "tool_approval", call_id: "c1", name: "remove", arguments: { path: "a" } },
      {
        type: "tool_approval_result",
        call_id: "c1",
        name: "remove",
        decision: "approved",
        arguments: { path: "b" },
      },
      { type: "tool_end", call_id: "c1", name: "remove", result: "removed", is_error: false },
    ]);
    for (const [index, state] of states.entries()) {
      const { message } = await readMessage(records.slice(0, index + 3), version);
      const [call, ...others] = message.parts.filter(isToolUIPart);
      expect([call?.state, others]).toEqual([state, []]);
      expect(call?.input).toEqual({ path: version === 6 && index > 0 ? "b" : "a" });
    }
  });

  test("sends an allowed call again only in its own step, where clients look for it", async () => {
    const { message } = await readMessage(
      stamp([
        { type: "run_start", run_id: "run-1" },
        { type: "llm_start", llm_call_id: "1", node: "a" },
        { type: "llm_end", llm_call_id: "1", node: "a" },
        { type: "tool_call", call_id: "c1", name: "remove", arguments: {}, node: "a" },
        { type: "tool_approval", call_id: "c1", name: "remove", arguments: {}, node: "a" },
        { type: "llm_start", llm_call_id: "2", node: "b" },
        { type: "message_chunk", content: "Meanwhile.", id: "b", node: "b" },
        { type: "tool_approval_result", call_id: "c1", name: "remove", decision: "approved", node: "a" },
        { type: "tool_end", call_id: "c1", name: "remove", result: "removed", is_error: false, node: "a" },
      ]),
    );
    expect(message.parts.filter(isToolUIPart)).toMatchObject([{ state: "output-available" }]);
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
    for (const version of VERSIONS) {
      const { message, ...rest } = await readMessage(records, version);
      expect(rest).toEqual(expected);
      expect(textOf(message)).toBe("Hm");
      const last = message.parts.at(-1);
      if (status === "cancelled") expect(last).toEqual({ type: "data-loom-cancelled", data: { reason: "Too slow" } });
      expect((await encode(records, version)).at(-1)).toMatchObject({ type: "finish" });
    }
  });

  test.each(VERSIONS)("for version %i: asks clients for no answer to the calls of a cancelled run", async (version) => {
    const { message } = await readMessage(
      stamp([
        { type: "run_start", run_id: "run-1" },
        { type: "tool_call", call_id: "c1", name: "add", arguments: {} },
        { type: "tool_end", call_id: "c1", name: "add", result: "3", is_error: false },
        { type: "run_end", status: "cancelled" },
      ]),
      version,
    );
    for (const { sdk } of SDKS_OF[version] ?? [])
      expect(sdk.lastAssistantMessageIsCompleteWithToolCalls({ messages: [message] })).toBe(false);
  });

  test.each([
    [6, "data-loom-foreign"],
    [7, "custom"],
  ])("for version %i: sends no chunk that clients do not know, also if a stream had one", async (version, custom) => {
    const frames = [
      { type: "from-the-future" },
      { type: "start" },
      { type: "text-delta", id: "x", delta: "y" },
      { type: "file", url: "https://x.test/a.pdf", mediaType: "application/pdf", later: 1 },
      { type: "file", url: "https://x.test/a.pdf", mediaType: "application/pdf", providerMetadata: { acme: 1 } },
      7,
    ];
    const file = {
      type: "file",
      url: "https://x.test/a.pdf",
      mediaType: "application/pdf",
      providerMetadata: { acme: { id: 1 } },
    };
    const chunks = await encode(
      stamp([
        { type: "run_start", run_id: "run-1" },
        ...frames.map((frame) => ({ type: "foreign", dialect: "ai-sdk", frame })),
        { type: "foreign", dialect: "ai-sdk", frame: file },
        { type: "foreign", dialect: "ai-sdk", frame: { type: "custom", kind: "acme.note" } },
        { type: "custom", value: { type: "data-weather", data: 1 } },
        { type: "custom", value: { type: "data-weather", data: 1, later: 1 } },
        { type: "custom", value: { type: "data-loom-node", data: 1 } },
      ]),
      version,
    );
    expect(chunks.map(({ type }) => type)).toEqual([
      "start",
      "start-step",
      ...frames.map(() => "data-loom-foreign"),
      "file",
      custom,
      "data-weather",
      "data-loom-custom",
      "data-loom-custom",
    ]);
  });
});
