/**
 * 001 §3: the encoding is UTF-8, which has no form for half a character. Whatever an agent, a user or a foreign sender
 * writes, no frame of any dialect contains an unpaired surrogate, and the texts are the repaired texts.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  createStreamCheck,
  createStreamConverter,
  DIALECT_NAMES,
  type DialectName,
  DIALECTS,
} from "../src/dialects/index.ts";
import { ForeignSession } from "../src/engine/foreign-session.ts";
import { openSession } from "../src/engine/index.ts";
import { SESSION, expectValid, readRecords } from "./contracts/sender.ts";
import { sendCommand } from "../src/engine/send-command.ts";
import { perform } from "./contracts/graph-fixture.ts";
import { append, defineGraph, END } from "../src/graph/index.ts";
import { MemoryLog } from "../src/log/memory-log.ts";
import type { AnyEvent, EventRecord, JsonObject, StampedRecord } from "../src/protocol/index.ts";
import { SAMPLES } from "./sampling.ts";

const HIGH = "\ud83d";
const LOW = "\ude00";

/** Texts of any UTF-16, mostly halves of characters. */
const text = fc
  .array(fc.constantFrom(HIGH, LOW, `${HIGH}${LOW}`, "a", "é", "[DONE]"), { maxLength: 6 })
  .map((units) => units.join(""));
const pieces = fc.array(text, { minLength: 1, maxLength: 6 });

/** The frames of the records in each dialect, and in the strict form of `loom`. */
function encodeAll(
  records: readonly StampedRecord[],
): readonly (readonly [name: DialectName, frames: readonly string[], isStrict: boolean])[] {
  const variants = [...DIALECT_NAMES.map((name) => ({ name, strict: false })), { name: "loom" as const, strict: true }];
  return variants.map(({ name, strict }) => {
    const encoder = DIALECTS[name].createEncoder({ strict });
    return [name, records.flatMap((record) => encoder.encode(record)), strict] as const;
  });
}

/** The texts and names of a frame that have an unpaired surrogate. */
function findUnpaired(frame: string): readonly string[] {
  const found: string[] = [];
  if (frame === "[DONE]") return found;
  JSON.parse(frame, (name, value: unknown) => {
    for (const each of [name, value]) if (typeof each === "string" && !each.isWellFormed()) found.push(each);
    return value;
  });
  return found;
}

function joinTexts(records: readonly EventRecord[], pick: (event: JsonObject) => unknown): string {
  return records.reduce((joined, { event }) => joined + ((pick(event as unknown as JsonObject) ?? "") as string), "");
}

const pickAnswer = ({ type, channel, content }: JsonObject): unknown =>
  // The pieces contain no line breaks; those of blank lines before a tool call are part of no answer.
  type === "message_chunk" && channel !== "thought" ? (content as string).replaceAll("\n", "") : undefined;
const pickReply = ({ type, reply }: JsonObject): unknown => (type === "reply" ? reply : undefined);

function expectWellFormed(records: readonly StampedRecord[], answer: string): void {
  for (const [name, frames, isStrict] of encodeAll(records)) {
    expect(frames.flatMap(findUnpaired), name).toEqual([]);
    const check = createStreamCheck(DIALECTS[name]);
    const checked = frames.map((frame) => check.check(frame));
    expect(
      checked.flatMap(({ issues }) => issues.filter(({ rule }) => rule === "frame-surrogate")),
      name,
    ).toEqual([]);
    // Strict form does not say which chunks are thoughts.
    if (isStrict) continue;
    // A dialect without `node_exit` or with another name for the text still shows the same answer.
    expect(
      joinTexts(
        checked.flatMap(({ records: read }) => read),
        pickAnswer,
      ),
      name,
    ).toBe(answer);
  }
}

describe("a run", () => {
  test("sends the repaired texts in every dialect, however they were split", async () => {
    await fc.assert(
      fc.asyncProperty(pieces, pieces, pieces, pieces, pieces, async (answer, thought, reasoning, args, output) => {
        const log = new MemoryLog();
        await using session = await openSession(log, SESSION);
        const run = await session.startRun({ message: answer.join(""), agent: `a${HIGH}` });
        expect(run.message).toBe(answer.join("").toWellFormed());
        await run.span(`think${HIGH}`, async (node) => {
          const id = node.name;
          const call = { call_id: `c${LOW}`, name: `tool${HIGH}` };
          // Texts of different kinds are interleaved.
          for (let at = 0; at < 6; at++) {
            if (answer[at] !== undefined) void node.write(answer[at] ?? "");
            if (thought[at] !== undefined) void node.write(thought[at] ?? "", { channel: "thought" });
            if (reasoning[at] !== undefined) void node.think(reasoning[at] ?? "");
            if (args[at] !== undefined)
              void node.emit({
                type: "tool_call_chunk",
                arguments_delta: args[at] ?? "",
                ...(at === 0 ? call : {}),
              });
          }
          void node.emit({ type: "reasoning_end", id });
          void node.emit({ type: "tool_call", ...call, arguments: { [HIGH]: args } });
          void node.emit({ type: "tool_start", ...call });
          for (const content of output) void node.emit({ type: "tool_output", ...call, content });
          await node.emit({ type: "tool_end", ...call, result: output.join(""), is_error: false, output });
          void node.emit({ type: "data", data_type: "custom", data: { [LOW]: [reasoning, { [HIGH]: thought }] } });
          void node.emit({ type: "custom", value: { [HIGH]: thought } });
          await node.emit({ type: "error", message: HIGH, recoverable: true });
        });
        await run.finish();
        const records = await expectValid(log);
        expect(joinTexts(records, pickAnswer)).toBe(answer.join("").toWellFormed());
        expect(joinTexts(records, pickReply)).toBe(answer.join("").toWellFormed());
        const pick = (wanted: string, field: string, channel?: string) =>
          joinTexts(records, (event) =>
            event["type"] === wanted && event["channel"] === channel ? event[field] : undefined,
          );
        expect(pick("message_chunk", "content", "thought")).toBe(thought.join("").toWellFormed());
        expect(pick("reasoning_chunk", "content")).toBe(reasoning.join("").toWellFormed());
        expect(pick("tool_call_chunk", "arguments_delta")).toBe(args.join("").toWellFormed());
        expect(pick("tool_output", "content")).toBe(output.join("").toWellFormed());
        expectWellFormed(records, answer.join("").toWellFormed());
      }),
      { numRuns: SAMPLES.sessions },
    );
  });

  test.each(["finish", "fail", "cancel"] as const)("ends its texts when it ends: %s", async (how) => {
    const log = new MemoryLog();
    await using session = await openSession(log, SESSION);
    const run = await session.startRun({});
    const node = run.enter("think");
    void node.write(`a${HIGH}`);
    void run.emit({ type: "message_chunk", content: `b${HIGH}`, id: "other", channel: "thought" });
    if (how === "finish") await run.finish();
    else if (how === "fail") await run.fail({ message: `m${HIGH}`, code: `c${HIGH}` });
    else await run.cancel(`r${HIGH}`);
    const records = await expectValid(log);
    expect(joinTexts(records, pickAnswer)).toBe("a\ufffd");
    expect(joinTexts(records, ({ channel, content }) => (channel === "thought" ? content : ""))).toBe("b\ufffd");
    if (how === "finish") expect(joinTexts(records, pickReply)).toBe("a\ufffd");
    expectWellFormed(records, "a\ufffd");
  });

  test("waits for the rest of a character only as long as the message lasts", async () => {
    const log = new MemoryLog();
    await using session = await openSession(log, SESSION);
    const run = await session.startRun({});
    await run.span("think", async (node) => {
      await node.write(`a${HIGH}`);
      await node.write(LOW, { is_complete: true });
      await node.write(`b${HIGH}`, { is_complete: true });
    });
    await run.span("more", async (node) => {
      await node.write(LOW);
    });
    await run.finish({ reply: HIGH });
    const texts = (await readRecords(log)).flatMap(({ event }) => (event.type === "message_chunk" ? [event] : []));
    expect(texts.map(({ content }) => content)).toEqual(["a", "😀", "b\ufffd", "\ufffd"]);
  });

  test("repairs an approval before the client receives it, so that it can be answered", async () => {
    const log = new MemoryLog();
    await using session = await openSession(log, SESSION);
    const run = await session.startRun({});
    const answered = run.requestApproval({ callId: `c${HIGH}`, name: `t${HIGH}`, arguments: { [HIGH]: LOW } });
    await run.settled();
    const approval = (await readRecords(log)).find(({ event }) => event.type === "tool_approval")?.event as JsonObject;
    expect(approval).toMatchObject({ call_id: "c\ufffd", name: "t\ufffd", arguments: { "\ufffd": "\ufffd" } });
    const { call_id, name, digest } = approval;
    const body = { run_id: run.runId, call_id, name, digest, decision: "approved" } as JsonObject;
    const { outcome } = await sendCommand(log, { commandId: "k", sessionId: SESSION, kind: "approve", body });
    expect(outcome).toMatchObject({ code: "done" });
    expect(await answered).toMatchObject({ decision: "approved", arguments: { "\ufffd": "\ufffd" } });
    await run.finish();
    expectWellFormed(await expectValid(log), "");
  });

  test("stores graph states without unpaired surrogates", async () => {
    const graph = defineGraph({
      name: "g",
      channels: { list: append<string>() },
      nodes: { work: async (_, { once }) => ({ list: [HIGH, await once("k", async () => LOW)] }) },
      edges: { work: END },
      start: "work",
    });
    const { state, records } = await perform(graph);
    expect(state).toEqual({ list: ["\ufffd", "\ufffd"] });
    for (const record of records) expect(findUnpaired(JSON.stringify(record))).toEqual([]);
  });
});

/** A foreign stream of `loom` frames with the answer in these pieces. */
function foreignFrames(answer: readonly string[], isNumbered: boolean): readonly string[] {
  const events: readonly JsonObject[] = [
    { type: "run_start", message: HIGH },
    { type: "node_enter", id: `think${LOW}`, node_id: "n" },
    ...answer.map((content) => ({ type: "message_chunk", id: `think${LOW}`, node_id: "n", content })),
    { type: "custom", node_id: "n", value: { [HIGH]: [LOW] } },
    { type: "node_exit", id: `think${LOW}`, node_id: "n", result: { Err: HIGH } },
    { reply: answer.join(""), node_id: "n" },
  ];
  return events.map((event, at) =>
    JSON.stringify({ session_id: "s", ...(isNumbered ? { event_id: at + 1 } : {}), ...event }),
  );
}

describe("a foreign stream", () => {
  test("is stored with repaired texts", async () => {
    await fc.assert(
      fc.asyncProperty(pieces, fc.boolean(), async (answer, isNumbered) => {
        const log = new MemoryLog();
        const session = await ForeignSession.open(log, SESSION);
        const decoder = DIALECTS.loom.createDecoder();
        for (const frame of foreignFrames(answer, isNumbered))
          for (const record of decoder.decode(frame).records) await session.write(record);
        await session.settled();
        await session.close();
        const records = await expectValid(log);
        expect(joinTexts(records, pickReply)).toBe(answer.join("").toWellFormed());
        expectWellFormed(records, answer.join("").toWellFormed());
      }),
      { numRuns: SAMPLES.sessions },
    );
  });

  test.each(DIALECT_NAMES)("is converted to %s without unpaired surrogates", (name) => {
    fc.assert(
      fc.property(pieces, fc.boolean(), (answer, isNumbered) => {
        const converter = createStreamConverter(DIALECTS.loom, DIALECTS[name]);
        const frames = foreignFrames(answer, isNumbered).flatMap((frame) => converter.convert(frame).frames);
        expect(frames.flatMap(findUnpaired)).toEqual([]);
        const decoder = DIALECTS[name].createDecoder();
        const read = frames.flatMap((frame) => decoder.decode(frame).records);
        // Half a character at the end is dropped, unless the encoder adds what the reply has and the chunks have not.
        const sent = answer.join("");
        const cut = sent.replace(/[\ud800-\udbff]$/, "");
        expect([sent.toWellFormed(), cut.toWellFormed()]).toContain(joinTexts(read, pickAnswer));
      }),
    );
  });

  test("is reported by the check, in every dialect", () => {
    const samples: { readonly [N in DialectName]: AnyEvent | JsonObject } = {
      loom: { type: "message_chunk", id: "think", content: HIGH },
      export: { Messages: { chunk: { content: HIGH }, metadata: { loom_node: "think" } } },
      engine: { type: "content", data: { content: HIGH }, metadata: { request_id: "r", timestamp: 1, sequence: 1 } },
      lumine: { type: "chunk", id: "m", message: HIGH },
      "stream-event": { type: "text_delta", ts: 1, source: "stream", content: HIGH },
      "ai-sdk": { type: "text-delta", id: "1", delta: HIGH },
      "ag-ui": { type: "TEXT_MESSAGE_CONTENT", messageId: "1", delta: HIGH },
      "openai-chat": { object: "chat.completion.chunk", choices: [{ index: 0, delta: { content: HIGH } }] },
      "openai-responses": {
        type: "response.output_text.delta",
        item_id: "1",
        output_index: 0,
        content_index: 0,
        delta: HIGH,
      },
    };
    for (const name of DIALECT_NAMES) {
      const check = createStreamCheck(DIALECTS[name], { frames: true });
      const rulesOf = (frame: string) => check.check(frame).issues.map(({ rule }) => rule);
      const split = JSON.stringify(samples[name]);
      expect(rulesOf(split), name).toContain("frame-surrogate");
      expect(rulesOf(split.replace("\\ud83d", "\\ud83d\\ude00")), name).not.toContain("frame-surrogate");
      expect(rulesOf(split.replace("\\ud83d", "\\\\ud83d")), name).not.toContain("frame-surrogate");
    }
  });
});
