/** Creates the command host of a server, shared by HTTP endpoints and sockets. */
import type { ServerCore } from "../api/server-core.ts";
import type { CommandHost } from "./execute-command.ts";

/** Without a blob store no attachment exists, so a message with one is rejected. */
const NO_BLOBS: NonNullable<CommandHost["blobs"]> = { get: () => Promise.resolve(undefined) };

export function createCommandHost(core: Pick<ServerCore, "log" | "runs" | "limits" | "blobs" | "report">): CommandHost {
  const { log, runs, limits, blobs = NO_BLOBS, report } = core;
  return {
    log,
    dispatch: (session) => runs.dispatch(session),
    resolveAgent: (name) => runs.resolveAgent(name),
    blobs,
    commands: { timeoutMs: limits.commandTimeoutMs },
    onError: report,
  };
}
