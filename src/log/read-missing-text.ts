/** Reads the beginning of an answer that a saved encoder left out, see `MissingText`. */
import type { MissingText } from "../dialects/dialect.ts";
import type { MessageChunkEvent } from "../protocol/events.generated.ts";
import { LoomError } from "../protocol/index.ts";
import { createLoopYield } from "./follow-records.ts";
import type { Log } from "./log.ts";
import { isAnswerChannel } from "../protocol/record.ts";

/** Reads the text from the records and adds it. Costs the records of the answer. */
export async function readMissingText(log: Log, sessionId: string, missing: MissingText): Promise<void> {
  const { runId, nodeId, fromId, length } = missing;
  const pieces: string[] = [];
  const yieldToLoop = createLoopYield();
  let left = length;
  for (let after = fromId - 1; left > 0;) {
    const page = await log.read(sessionId, { after });
    if (page.isEmpty) break;
    after = page.lastId;
    for (const { envelope, event } of page.records) {
      if (left === 0) break;
      if (event.type !== "message_chunk" || envelope.run_id !== runId || envelope.node_id !== nodeId) continue;
      const { content, channel } = event as MessageChunkEvent;
      if (!isAnswerChannel(channel)) continue;
      pieces.push(content);
      left -= content.length;
    }
    await yieldToLoop();
  }
  if (left !== 0)
    throw new LoomError("store_corrupt", `The answer from record ${fromId} of session "${sessionId}" is incomplete`);
  missing.add(pieces.join(""));
}
