/**
 * A message that comes by HTTP: it becomes a command under the request's key, and its run can be named at once, whether
 * it has begun or waits for its turn.
 *
 * Invariant: the same key is the same run, whenever it is asked for; whoever leaves stops nothing.
 */
import { formatCursor } from "../../log/index.ts";
import type { StartedRun, StartRun } from "../api/shapes.generated.ts";
import { deriveRunId } from "../commands/derive-run-id.ts";
import type { Caller } from "../guard/authorize.ts";
import type { ServerCore } from "../server-core.ts";
import { addressOfRunEvents } from "./addresses.ts";
import { ask } from "./command-endpoint.ts";
import { findSession } from "./find-session.ts";

export interface AskedRun {
  readonly session: string;
  readonly run: string;
  /** The command's. */
  readonly key: string;
}

export async function startRun(
  core: ServerCore,
  caller: Caller,
  { session, key, ...asked }: StartRun & Pick<AskedRun, "session" | "key">,
): Promise<AskedRun> {
  const { result } = await ask(core, caller, { ...asked, type: "run", id: key, session });
  const { run_id: named } = result ?? {};
  return { session, key, run: typeof named === "string" ? named : (asked.run_id ?? deriveRunId(session, key)) };
}

export async function describeStarted(core: ServerCore, { session, run, key }: AskedRun): Promise<StartedRun> {
  // In this order: a run that is not there now begins after the last record of the session.
  const info = await findSession(core.log, session);
  const found = await core.log.getRun(session, run);
  return {
    session_id: session,
    run_id: run,
    command_id: key,
    status: found?.status ?? "queued",
    cursor: formatCursor(info.incarnation, found === undefined ? info.lastId : found.firstId - 1),
    events: addressOfRunEvents(core, session, run),
  };
}
