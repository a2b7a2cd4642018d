/**
 * The stream of a session over HTTP: its beginning, its rest, its tail, one run of it, in any dialect, as server-sent
 * events or NDJSON. The answer bears the cursor of its beginning as `loom-cursor`: frames counted from there are counted
 * in a known place, also where the frames themselves tell none.
 */
import { type AnyOperation, defineOperation } from "../api/operation.ts";
import { findRun } from "./find-session.ts";
import { isAllRead, PLACE_HEADERS, readFraming, readLastEventId, sendStream, STREAM_TYPES } from "./stream-endpoint.ts";

export const readEvents = defineOperation<"ReadEvents">({
  id: "readEvents",
  method: "GET",
  path: "/v1/sessions/{id}/events",
  tag: "events",
  summary: "The frames of a session, from anywhere, in any dialect",
  description:
    "`Accept` says whether they come as server-sent events or NDJSON. With `follow` the answer goes on when the end is reached; else it ends there. With `run` it is one run, from its start unless a place is given, to its end; with `follow` one that has not begun is waited for.",
  params: { id: "Id of the session" },
  headers: PLACE_HEADERS,
  query: "ReadEvents",
  action: "sessions.read",
  answers: {
    200: { about: "The frames", mediaTypes: STREAM_TYPES },
    204: { about: "The run is over, and all of it came before `Last-Event-ID`: an EventSource stops asking" },
  },
  async handle(core, call) {
    const { dialect, modes, after, skip, of, follow = false, limit, run } = call.query;
    const session = call.params["id"] ?? "";
    // A browser that connects again asks at the same address: what it has received since tells the header alone.
    const lastEventId = readLastEventId(call.request);
    if (run !== undefined && lastEventId !== undefined && (await isAllRead(core, session, run, lastEventId)))
      return new Response(null, { status: 204 });
    // Who does not follow does not wait for it to begin either.
    if (run !== undefined && !follow) await findRun(core.log, session, run);
    return sendStream(
      core,
      call,
      session,
      {
        dialect,
        modes,
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

export const EVENT_OPERATIONS: readonly AnyOperation[] = [readEvents];
