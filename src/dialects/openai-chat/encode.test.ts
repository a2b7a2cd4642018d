// Reads what the encoder writes with the stream helper of the real package `openai`.
import fc from "fast-check";
import { ChatCompletionStream } from "openai/lib/ChatCompletionStream";
import { describe, expect, test } from "vitest";
import { sessionArbitrary } from "../../../test/run-arbitrary.ts";
import { SAMPLES } from "../../../test/sampling.ts";
import { listVectorFiles, readVector } from "../../../test/vectors.ts";
import type { StampedRecord } from "../../protocol/index.ts";
import { createStamper } from "../stamp.ts";
import { createOpenaiChatEncoder } from "./encode.ts";

function encode(records: readonly StampedRecord[]): readonly string[] {
  const encoder = createOpenaiChatEncoder();
  return records.flatMap((record) => encoder.encode(record));
}

function readCompletion(frames: readonly string[]) {
  const bytes = new TextEncoder().encode(frames.map((frame) => `${frame}\n`).join(""));
  return ChatCompletionStream.fromReadableStream(new Blob([bytes]).stream()).finalChatCompletion();
}

describe("openai-chat: the client", () => {
  test("reads any session: each run is a message with the text of its chunks", async () => {
    await fc.assert(
      fc.asyncProperty(sessionArbitrary, async (records) => {
        const runs = Map.groupBy(
          records.filter(({ envelope }) => envelope.run_id !== undefined),
          ({ envelope }) => envelope.run_id as string,
        );
        for (const [runId, run] of runs) {
          const frames = encode(run);
          if (frames.at(-1)?.includes('"choices":[],"error":') === true) continue;
          const { id, choices } = await readCompletion(frames);
          expect([id, choices[0]?.message.role, choices[0]?.finish_reason]).toEqual([runId, "assistant", "stop"]);
        }
      }),
      { numRuns: SAMPLES.sessions },
    );
  });

  test("has both attempts of an answer that a crash interrupted, and the reply", async () => {
    const killed = listVectorFiles("runs")
      .map(readVector)
      .find(({ name }) => name === "agent-killed-mid-answer");
    const frames = encode((killed?.records ?? []).flat().map(createStamper()));
    const { choices } = await readCompletion(frames);
    expect(choices[0]?.message.content).toContain("\n\n");
    expect(choices[0]?.message.content).toContain("The sum of 1 and 2 is 3.");
    const finish = frames.find((frame) => frame.includes('"finish_reason":"stop"'));
    expect(JSON.parse(finish ?? "{}")).toMatchObject({ loom: { type: "reply" } });
  });
});
