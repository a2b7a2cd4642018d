// What clients of dialects with one text of thinking read of real searches, which think in parallel.
import { expect, test } from "vitest";
import { agent, type AgentOptions } from "../../src/agents/index.ts";
import { DIALECTS, type DialectName } from "../../src/dialects/index.ts";
import { createLog, expectValid } from "../contracts/sender.ts";
import type { EventOf, JsonObject, StampedRecord } from "../../src/protocol/index.ts";

type Read = (frame: JsonObject) => string | undefined;
const field = (frame: JsonObject, name: string): JsonObject => (frame[name] ?? {}) as JsonObject;

const READERS: { readonly [N in DialectName]?: Read } = {
  engine: (frame) => (frame["type"] === "thinking" ? (field(frame, "data")["content"] as string) : undefined),
  lumine: (frame) => (frame["type"] === "reasoning" ? (frame["content"] as string) : undefined),
  "openai-chat": (frame) =>
    field((frame["choices"] as unknown as readonly JsonObject[])[0] ?? {}, "delta")["reasoning_content"] as
      | string
      | undefined,
};

async function search(options: AgentOptions, question: string): Promise<readonly StampedRecord[]> {
  const log = await createLog();
  const searcher = agent({ provider: "offline", ...options });
  await using session = await searcher.openSession(log, "s");
  const run = await searcher.answer(session, question);
  expect((await run.ended).status).toBe("completed");
  return await expectValid(log, "s");
}

/** The thinking of each model call, in the order of the first pieces. */
function listThoughts(records: readonly StampedRecord[]): readonly string[] {
  const open = new Map<string, string[]>();
  const all: string[][] = [];
  const reasoned = new Set<string>();
  for (const { envelope, event } of records) {
    const { node_id = "" } = envelope;
    const { channel, content } = event as EventOf<"message_chunk">;
    if (event.type === "llm_end" && open.delete(node_id)) reasoned.delete(node_id);
    if (event.type === "reasoning_end") reasoned.add(node_id);
    const isThought = event.type === "message_chunk" && channel === "thought";
    if (!isThought && (event.type !== "reasoning_chunk" || (channel as string | undefined) === "judgement")) continue;
    let thought = open.get(node_id);
    if (thought === undefined) {
      open.set(node_id, (thought = []));
      all.push(thought);
    }
    if (reasoned.delete(node_id)) thought.push("\n\n");
    thought.push(content);
  }
  return all.map((pieces) => pieces.join(""));
}

test.each([
  ["tot", { kind: "tot" }, "Game of 24: 1 5 5 5"],
  ["got", { kind: "got" }, "Compare tea and coffee for health and cost"],
  ["agot", { kind: "got", adaptive: true }, "Compare tea and coffee for health and cost"],
] as const)(
  "%s is readable: each thought is whole, in the order of its start, without judgements",
  async (_name, options, question) => {
    const records = await search(options, question);
    const thoughts = listThoughts(records);
    expect(thoughts.length).toBeGreaterThan(3);
    for (const [dialect, read] of Object.entries(READERS)) {
      const encoder = DIALECTS[dialect as DialectName].createEncoder();
      const text = records
        .flatMap((record) => encoder.encode(record))
        .map((frame) => read(JSON.parse(frame) as JsonObject) ?? "")
        .join("");
      expect(text, dialect).toBe(thoughts.join("\n\n"));
      expect(text).not.toMatch(/"(?:score|scores|solved|best|complex|nodes|needs)"/);
    }
  },
);
