/** The frames of one run as they are on the wire, each with its cursor. */
import { createSseDecoder, readFrames } from "loom-agent/framing";
import type { FrameRequest, ReadFrame } from "../inspector/inspector-api.ts";
import { ApiError } from "./api-error.ts";
import { open } from "./ask.ts";

/** As server-sent events: their `id` is the cursor, also in dialects whose frames have no room for one. */
export async function* readRunFrames(
  session: string,
  runId: string,
  { dialect, after, follow = false, signal }: FrameRequest,
): AsyncGenerator<ReadFrame, void, undefined> {
  const response = await open(`/v1/sessions/${encodeURIComponent(session)}/events`, {
    accept: "text/event-stream",
    // All kinds of events: an inspector that leaves some out explains nothing.
    query: { run: runId, dialect, modes: "all", after, follow: follow ? "true" : undefined },
    signal,
  });
  if (response.body === null) return;
  for await (const batch of readFrames(response.body, createSseDecoder()))
    for (const outcome of batch) {
      if (!outcome.ok) throw new ApiError("bad_answer", `${outcome.reason}: ${outcome.detail}`);
      yield { text: outcome.text, ...(outcome.id === undefined ? {} : { cursor: outcome.id }) };
    }
}
