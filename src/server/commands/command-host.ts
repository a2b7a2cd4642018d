/** Creates the command host of a server, shared by HTTP endpoints and sockets. */
import type { Log } from "../../log/index.ts";
import type { BlobStore } from "../blobs/blob-store.ts";
import type { ServerLimits } from "../guard/server-limits.ts";
import type { RunDispatcher } from "../runs/run-dispatcher.ts";
import type { CommandHost } from "./execute-command.ts";

/** Without a blob store no attachment exists, so a message with one is rejected. */
const NO_BLOBS: NonNullable<CommandHost["blobs"]> = { get: () => Promise.resolve(undefined) };

export interface CommandHostOptions {
  readonly log: Log;
  readonly runs: RunDispatcher;
  readonly limits: ServerLimits;
  readonly blobs: BlobStore | undefined;
  readonly report: (error: unknown) => string;
}

export function createCommandHost(options: CommandHostOptions): CommandHost {
  const { log, runs, limits, blobs = NO_BLOBS, report } = options;
  return {
    log,
    dispatch: (session) => runs.dispatch(session),
    resolveAgent: (name) => runs.resolveAgent(name),
    blobs,
    commands: { timeoutMs: limits.commandTimeoutMs },
    onError: report,
  };
}
