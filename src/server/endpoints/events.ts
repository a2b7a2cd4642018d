/**
 * Endpoint that streams a session: from any position, one run or all, in any dialect, as server-sent events or NDJSON.
 * The response header `loom-cursor` is the cursor of the first frame's position, so that clients can count frames from
 * there even in dialects without cursors.
 */
import { defineOperation } from "../api/operation.ts";
import { findRun } from "./find-session.ts";
import {
  isRunRead,
  CURSOR_HEADERS,
  readFraming,
  readLastEventId,
  sendStream,
  STREAM_TYPES,
} from "./stream-endpoint.ts";

export const readEvents = defineOperation<"ReadEvents">({
  id: "readEvents",
  method: "GET",
  path: "/v1/sessions/{id}/events",
  summary: "Stream the frames of a session",
  description:
    "`Accept` selects server-sent events or NDJSON. With `follow` the stream stays open at the end of the session. With `run` it contains one run, from its start or the given position to its end; with `follow` also a run that has not started yet.",
  headers: CURSOR_HEADERS,
  query: "ReadEvents",
  action: "sessions.read",
  responses: {
    200: { description: "Frames", mediaTypes: STREAM_TYPES },
    204: { description: "The run has ended and `Last-Event-ID` is at its end; an EventSource stops reconnecting" },
  },
  async handle(core, call) {
    const { dialect, modes, strict, after, skip, of, follow = false, limit, run } = call.query;
    const session = call.params["id"] ?? "";
    // A browser reconnects with the same URL, so only the header has the current position.
    const lastEventId = readLastEventId(call.request);
    if (run !== undefined && lastEventId !== undefined && (await isRunRead(core, session, run, lastEventId)))
      return new Response(null, { status: 204 });
    // Without `follow` do not wait for a run that has not started.
    if (run !== undefined && !follow) await findRun(core.log, session, run);
    return sendStream(
      core,
      call,
      session,
      {
        dialect,
        modes,
        strict,
        after: lastEventId ?? after,
        skip: lastEventId === undefined ? skip : undefined,
        of,
        follow,
        limit,
        run,
      },
      { framing: readFraming(call.request) },
    );
  },
});
