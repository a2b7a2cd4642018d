/** The server, as those see it who carry out commands, whichever door they came by. */
import type { ServerCore } from "../server-core.ts";
import type { CommandHost } from "./carry-out.ts";

/** Files of messages must be there: where nothing is kept, nothing is. */
const NO_BLOBS: NonNullable<CommandHost["blobs"]> = { get: () => Promise.resolve(undefined) };

export function createCommandHost(core: Pick<ServerCore, "log" | "runs" | "limits" | "blobs" | "report">): CommandHost {
  const { log, runs, limits, blobs = NO_BLOBS, report } = core;
  return {
    log,
    attend: (session) => runs.attend(session),
    resolveAgent: (name) => runs.resolveAgent(name),
    blobs,
    commands: { timeoutMs: limits.commandTimeoutMs },
    onError: report,
  };
}
