/** Reads the frames of one run as sent, each with its cursor. */
import { createSseDecoder, readFrames } from "loom-agent/framing";
import type { FrameRequest, WireFrame } from "../inspector/inspector-api.ts";
import { ApiError } from "./api-error.ts";
import { requestStream } from "./request.ts";

/** Uses server-sent events: their `id` is the cursor, even in dialects whose frames have none. */
export async function* readRunFrames(
  session: string,
  runId: string,
  { dialect, after, follow = false, signal }: FrameRequest,
): AsyncGenerator<WireFrame, void, undefined> {
  const response = await requestStream(`/v1/sessions/${encodeURIComponent(session)}/events`, {
    accept: "text/event-stream",
    // The inspector needs events of every mode.
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
