/**
 * Starts a run for a message sent over HTTP. The message becomes a command with the request's idempotency key as ID, so
 * its run can be named at once, live or queued.
 *
 * Invariant: the same key yields the same run. A client that disconnects does not stop it.
 */
import { formatCursor } from "../../log/index.ts";
import type { StartedRun, StartRun } from "../api/shapes.generated.ts";
import { deriveRunId } from "../commands/derive-run-id.ts";
import type { Caller } from "../auth/authorize.ts";
import type { ServerCore } from "../api/server-core.ts";
import { runEventsPath } from "./resource-paths.ts";
import { executeOrThrow } from "./command-endpoint.ts";
import { findSession } from "./find-session.ts";

export interface RequestedRun {
  readonly session: string;
  readonly run: string;
  /** Id of the command. */
  readonly key: string;
}

export async function startRun(
  core: ServerCore,
  caller: Caller,
  { session, key, ...message }: StartRun & Pick<RequestedRun, "session" | "key">,
): Promise<RequestedRun> {
  const { result } = await executeOrThrow(core, caller, { ...message, type: "run", id: key, session });
  const { run_id: named } = result ?? {};
  return { session, key, run: typeof named === "string" ? named : (message.run_id ?? deriveRunId(session, key)) };
}

export async function describeStarted(core: ServerCore, { session, run, key }: RequestedRun): Promise<StartedRun> {
  // In this order: a run that is not found here starts after the last record of the session.
  const info = await findSession(core.log, session);
  const found = await core.log.getRun(session, run);
  return {
    session_id: session,
    run_id: run,
    command_id: key,
    status: found?.status ?? "queued",
    cursor: formatCursor(info.incarnation, found === undefined ? info.lastId : found.firstId - 1),
    events: runEventsPath(core, session, run),
  };
}
