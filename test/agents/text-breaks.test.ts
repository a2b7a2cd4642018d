// Text before a tool call: clients that join all text of a run show a blank line before the text that follows the call.
import { describe, expect, test } from "vitest";
import { DIALECTS, type DialectName } from "../../src/dialects/index.ts";
import { openSession } from "../../src/engine/index.ts";
import { expectValid } from "../contracts/sender.ts";
import { MemoryLog } from "../../src/log/index.ts";
import type { JsonObject, StampedRecord } from "../../src/protocol/index.ts";
import { createAgentFixture, eventsOf } from "./agent-fixture.ts";

const CALL = { name: "add", input: { a: 4, b: 9 } };

/** A run that says something, calls a tool, and answers. */
async function calculate(said: string) {
  const fixture = await createAgentFixture([{ text: said, calls: [CALL, CALL] }, { text: "Sum is done: 4 and 9." }]);
  const run = await fixture.ask("Add 4 and 9");
  expect((await run.ended).status).toBe("completed");
  const records = await fixture.read();
  return { fixture, records, chunks: eventsOf(records, "message_chunk") };
}

/** The text that a client of the dialect joins to the answer. */
function joinText(
  records: readonly StampedRecord[],
  dialect: DialectName,
  read: (frame: JsonObject) => unknown,
): string {
  const encoder = DIALECTS[dialect].createEncoder();
  return records
    .flatMap((record) => encoder.encode(record))
    .map((text) => read(JSON.parse(text) as JsonObject))
    .filter((piece) => typeof piece === "string")
    .join("");
}

const at = (frame: unknown, ...path: readonly (string | number)[]): unknown =>
  path.reduce<unknown>((value, name) => (value as { readonly [name: string]: unknown } | undefined)?.[name], frame);

const JOINED: readonly (readonly [DialectName, (frame: JsonObject) => unknown])[] = [
  ["loom", (frame) => (frame["type"] === "message_chunk" ? frame["content"] : "")],
  ["export", (frame) => at(frame, "Messages", "chunk", "content")],
  ["stream-event", (frame) => (frame["type"] === "text_delta" ? frame["content"] : "")],
  ["engine", (frame) => (frame["type"] === "content" ? at(frame, "data", "content") : "")],
  ["lumine", (frame) => (frame["type"] === "chunk" && frame["content"] !== "[DONE]" ? frame["content"] : "")],
  ["openai-chat", (frame) => at(frame, "choices", 0, "delta", "content")],
];

const IN_PARTS: readonly (readonly [DialectName, (frame: JsonObject) => unknown])[] = [
  ["ai-sdk", (frame) => (frame["type"] === "text-delta" ? frame["delta"] : "")],
  ["ag-ui", (frame) => (frame["type"] === "TEXT_MESSAGE_CONTENT" ? frame["delta"] : "")],
  ["openai-responses", (frame) => (frame["type"] === "response.output_text.delta" ? frame["delta"] : "")],
];

describe("text before a tool call", () => {
  test.each(JOINED)("ends with a blank line in %s", async (dialect, read) => {
    const { records } = await calculate("Let me calculate.");
    expect(joinText(records, dialect, read)).toBe("Let me calculate.\n\nSum is done: 4 and 9.");
  });

  test.each(IN_PARTS)("has no blank line in %s, which has a part for each text", async (dialect, read) => {
    const { records } = await calculate("Let me calculate.");
    expect(joinText(records, dialect, read)).toBe("Let me calculate.Sum is done: 4 and 9.");
  });

  test("has no blank line in the prompt, and the reply is the text of its node run", async () => {
    const { fixture, records } = await calculate("Let me calculate.");
    expect(eventsOf(records, "reply")).toMatchObject([{ reply: "Sum is done: 4 and 9." }]);
    const next = await fixture.ask("And now?");
    await next.ended;
    for (const prompt of fixture.model.prompts.slice(1)) {
      expect(prompt[1]).toMatchObject({
        role: "assistant",
        content: [{ type: "text", text: "Let me calculate." }, {}, {}],
      });
      expect(JSON.stringify(prompt)).not.toContain(String.raw`\n\n`);
    }
  });

  test.each([
    ["one line end", "Let me see:\n", ["\n"]],
    ["a blank line", "Let me see:\n\n", []],
    ["nothing but space", "\n", []],
  ])("that ends with %s gets what is missing", async (_, said, breaks) => {
    const { chunks } = await calculate(said);
    expect(chunks.filter(({ channel }) => channel === "break").map(({ content }) => content)).toEqual(breaks);
  });

  test("is separated in a thought too: once in 001, and by the dialects that send one thought at a time", async () => {
    const log = new MemoryLog();
    await using session = await openSession(log, "s");
    const run = await session.startRun({ message: "Add" });
    await run.span("solve", async (node) => {
      const call = { call_id: "c", name: "add" };
      void node.write("Let me calculate.", { channel: "thought" });
      void node.emit({ type: "tool_call", ...call, arguments: {} });
      void node.emit({ type: "tool_start", ...call });
      void node.emit({ type: "tool_end", ...call, result: "13", is_error: false });
      void node.write("Sum is done.", { channel: "thought" });
    });
    await run.finish({ reply: "13" });
    const records = await expectValid(log, "s");
    const thoughts: readonly (readonly [DialectName, (frame: JsonObject) => unknown])[] = [
      ["loom", (frame) => (frame["type"] === "message_chunk" ? frame["content"] : "")],
      ["engine", (frame) => (frame["type"] === "thinking" ? at(frame, "data", "content") : "")],
      ["lumine", (frame) => (frame["type"] === "reasoning" ? frame["content"] : "")],
    ];
    for (const [dialect, read] of thoughts)
      expect(joinText(records, dialect, read), dialect).toBe("Let me calculate.\n\nSum is done.");
  });
});
