/**
 * Decides whether a new message cancels the live run. The stop button of AI SDK, assistant-ui and TanStack AI only closes
 * the connection, and so does a reload or a phone that sleeps, so the run goes on. The next message shows what the user
 * meant: a client that shows a part of the answer and sends a message has stopped the answer. Before the first text,
 * the run is given up if the client knows of it and its only reader has left.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { RunInfo, SessionInfo } from "../../log/index.ts";
import { isAnswerChannel } from "../../protocol/record.ts";
import type { ServerCore } from "../api/server-core.ts";
import { findLiveRun } from "../commands/execute-command.ts";
import { readRunEvents } from "../endpoints/run-records.ts";

/** How often, and after how many milliseconds, the server looks whether the reader has left. */
const LEAVE_CHECKS = 10;
const LEAVE_CHECK_MS = 50;

/** What the messages of the client show of a run. */
export interface ShownRun {
  /** Whether they have its question or a part of its answer. */
  readonly isKnown: boolean;
  /** Whether they have text of its answer. */
  readonly hasText: boolean;
}

/** `show` is called with the live run, if there is one, and its session. */
export async function isAbandoned(
  { log, streams }: Pick<ServerCore, "log" | "streams">,
  session: string,
  show: (run: RunInfo, info: SessionInfo) => ShownRun | Promise<ShownRun>,
): Promise<boolean> {
  const info = await log.getSession(session);
  if (info === undefined) return false;
  const live = await findLiveRun(log, session);
  if (live === undefined) return false;
  const { isKnown, hasText } = await show(live, info);
  if (hasText) return true;
  if (!isKnown) return false;
  for await (const { event } of readRunEvents(log, info, live, ["message_chunk"]))
    if (isAnswerChannel(event.channel) && event.content !== "") return false;
  // The connection that the client closed may be seen later than the message that it sent after that.
  for (let checks = 0; checks < LEAVE_CHECKS; checks++) {
    if (streams.isLeft(session, live.runId)) return true;
    await pause(LEAVE_CHECK_MS);
  }
  return false;
}
