/** The server, as those see it who carry out the commands that come by a socket. */
import type { CommandHost } from "../commands/carry-out.ts";
import type { ServerCore } from "../server-core.ts";

export function createSocketHost(core: ServerCore): CommandHost {
  const { log, runs, limits } = core;
  return {
    log,
    attend: (session) => runs.attend(session),
    resolveAgent: (name) => runs.resolveAgent(name),
    commands: { timeoutMs: limits.commandTimeoutMs },
    onError: (error) => void core.report(error),
  };
}
