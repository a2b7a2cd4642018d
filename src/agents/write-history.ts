/**
 * Writes the earlier messages of a conversation into a new session, one completed run per question. They are then part of
 * the log like any other run, and every process has them.
 */
import { randomUUID } from "node:crypto";
import { dropUndefined } from "../protocol/drop-undefined.ts";
import type { NodeRun, Session } from "../engine/index.ts";
import { Observation } from "../observe/observation.ts";
import type { JsonObject } from "../protocol/index.ts";
import { type EarlierTurn, type InputQuestion, toArguments } from "./agent-input.ts";
import type { RunAttachments } from "./compose-question.ts";

/** Observers of the agent are not called for these runs, which happened elsewhere. */
const UNOBSERVED = new Observation([]);

export interface WriteHistoryOptions {
  readonly agent: string;
  readonly actor?: string | undefined;
  /** Stores the files of a question. */
  readonly load: (question: InputQuestion) => Promise<RunAttachments> | RunAttachments;
  /** Returns the ID of the run for a turn, by its index. Default: random IDs. */
  readonly createRunId?: (index: number) => string;
  /** Returns the context of the run for a turn, by its index. Default: none. */
  readonly contextOf?: (index: number) => JsonObject;
}

export async function writeHistory(
  session: Session,
  turns: readonly EarlierTurn[],
  { agent, actor, load, createRunId = () => randomUUID(), contextOf }: WriteHistoryOptions,
): Promise<void> {
  for (const [index, { question, parts }] of turns.entries()) {
    const runId = createRunId(index);
    const unclaim = UNOBSERVED.claimRun(session.log, { sessionId: session.sessionId, runId });
    try {
      const attachments = await load(question);
      const run = await session.startRun({
        agent,
        runId,
        message: question.text,
        attachments,
        ...dropUndefined({ actor, context: contextOf?.(index) }),
        whenBusy: "reject",
      });
      await run.span("history", (node) => writeParts(node, parts));
      await run.finish();
    } finally {
      unclaim();
    }
  }
}

async function writeParts(node: NodeRun, parts: EarlierTurn["parts"]): Promise<void> {
  for (const part of parts)
    switch (part.type) {
      case "text":
        await node.write(part.text);
        break;
      case "reasoning":
        await node.think(part.text);
        break;
      case "tool-call":
        await node.emit({
          type: "tool_call",
          call_id: part.toolCallId,
          name: part.toolName,
          arguments: toArguments(part.input),
        });
        await node.emit({ type: "tool_start", call_id: part.toolCallId, name: part.toolName });
        break;
      default: {
        const { type, value } = part.output;
        await node.emit({
          type: "tool_end",
          call_id: part.toolCallId,
          name: part.toolName,
          result: typeof value === "string" ? value : (JSON.stringify(value) ?? ""),
          is_error: type.startsWith("error") || type === "execution-denied",
        });
      }
    }
}
