/**
 * What happens to a run when the client that reads its stream disconnects. By default it continues. Clients whose stop
 * button only closes the connection can request `on_disconnect=cancel`.
 */
import { randomUUID } from "node:crypto";
import { isLoomError } from "../../protocol/index.ts";
import type { ServerCore } from "../api/server-core.ts";
import type { DisconnectOptions } from "../api/shapes.generated.ts";
import type { Caller } from "../auth/authorize.ts";
import { executeOrThrow } from "../endpoints/command-endpoint.ts";
import type { RequestedRun } from "../endpoints/stream-endpoint.ts";
import type { ReadRequest } from "../streams/stream-reader.ts";

type DisconnectPolicy = DisconnectOptions["on_disconnect"];

/**
 * Call it before the run is started, so that a caller who may not cancel runs is refused. The session may not exist
 * yet.
 */
export async function authorizePolicy(core: ServerCore, caller: Caller, policy: DisconnectPolicy): Promise<void> {
  if (policy === "cancel") await core.authorize({ caller, action: "runs.control" });
}

/**
 * Returns what to pass to `sendStream`: with the policy `cancel`, the run is cancelled if the connection closes before
 * the stream has ended. Runs that have ended stay as they are.
 */
export function applyPolicy(
  core: ServerCore,
  caller: Caller,
  { session, run }: Pick<RequestedRun, "session" | "run">,
  policy: DisconnectPolicy,
): Pick<ReadRequest, "onLeave"> {
  if (policy !== "cancel") return {};
  const cancel = async (): Promise<void> => {
    try {
      const command = { type: "cancel", id: randomUUID(), session, run_id: run, reason: REASON } as const;
      await executeOrThrow(core, caller, command);
    } catch (error) {
      // A run that ended meanwhile needs no cancel.
      if (!isLoomError(error)) core.report(error);
    }
  };
  return { onLeave: () => void cancel() };
}

const REASON = "The client disconnected";
