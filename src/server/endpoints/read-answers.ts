/**
 * Reads the answer of a run, to compare it with the text that a client sends back: clients that send all messages show by
 * it which version of a conversation they have.
 */
import type { Log, RunInfo, SessionInfo } from "../../log/index.ts";
import { readPages } from "../../log/read-pages.ts";
import { type EventOf, isLoomError } from "../../protocol/index.ts";
import { isAnswerChannel } from "../../protocol/record.ts";

/** Removes white space: texts of several model calls are joined in different ways. */
export const squash = (text: string): string => text.replaceAll(/\s+/gu, "");

/**
 * Returns what clients may show as the answer, without white space: all text, that without the attempts that were repeated,
 * and the reply. None if the run was pruned or deleted.
 */
export async function readAnswers(
  log: Log,
  info: SessionInfo,
  { runId, firstId, lastId }: RunInfo,
): Promise<readonly string[]> {
  const nodes = new Map<string, string>();
  const superseded = new Set<string>();
  let reply = "";
  try {
    for await (const { records } of readPages(log, info, firstId - 1, lastId))
      for (const { envelope, event } of records) {
        if (envelope.run_id !== runId) continue;
        if (event.type === "reply") ({ reply } = event as EventOf<"reply">);
        if (event.type === "node_enter") superseded.add((event as EventOf<"node_enter">).supersedes ?? "");
        if (event.type !== "message_chunk") continue;
        const { content, channel } = event as EventOf<"message_chunk">;
        const { node_id: node = "-" } = envelope;
        if (isAnswerChannel(channel)) nodes.set(node, (nodes.get(node) ?? "") + content);
      }
  } catch (error) {
    if (isLoomError(error, "evicted", "unknown_session", "cursor_ahead")) return [];
    throw error;
  }
  const kept = [...nodes].flatMap(([node, text]) => (superseded.has(node) ? [] : [text]));
  return [[...nodes.values()].join(""), kept.join(""), reply].map(squash);
}
