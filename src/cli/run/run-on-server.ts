/** `loom run --server`: sends a message to a server, and shows the run like one of this machine. */
import { randomUUID } from "node:crypto";
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import { CliError, type ParsedCommand } from "../command.ts";
import { explainErrors } from "../explain-error.ts";
import { openRemoteService } from "../sessions/open-service.ts";
import { findSession } from "../sessions/run-sessions.ts";
import type { SessionService } from "../sessions/session-service.ts";
import type { ServiceAddress } from "../sessions/server-settings.ts";
import type { Terminal } from "../terminal.ts";
import { readServerRunOptions, type ServerRunOptions } from "./read-run-options.ts";
import { findUnfinishedRun, SERVER_HOLDER, type WatchTarget, WatchedRun } from "./watched-run.ts";

export async function runOnServer(
  parsed: ParsedCommand,
  address: Extract<ServiceAddress, { kind: "server" }>,
  terminal: Terminal,
): Promise<number> {
  const options = await readServerRunOptions(parsed, terminal);
  await using service = await openRemoteService(address, terminal);
  return await explainErrors(async () => {
    const target = await findTarget(service, options, parsed);
    if (options.isNewSession) terminal.warn(terminal.styleError("dim", `session ${options.sessionId}`));
    return new WatchedRun(service, options, target, SERVER_HOLDER, terminal).watch();
  });
}

/** Sends the message, or finds the run to continue watching. */
async function findTarget(
  service: SessionService,
  options: ServerRunOptions,
  parsed: ParsedCommand,
): Promise<WatchTarget> {
  const { sessionId, message, agent, reasoning, instructions } = options;
  if (message === undefined) return findUnfinishedRun(await findSession(service, sessionId, parsed));
  const before = await service.getSession(sessionId);
  const [runId, commandId] = [randomUUID(), randomUUID()];
  const sent = await service.send({
    type: "run",
    id: commandId,
    session: sessionId,
    message,
    run_id: runId,
    ...dropUndefined({ agent, reasoning, instructions }),
  });
  if (sent.kind === "lost")
    throw new CliError(
      `${sent.message}; the server may still run the message`,
      `to see its run: \`${options.describeCommand("show")}\``,
    );
  if (sent.kind === "refused") throw new CliError(`the message was not accepted: ${sent.message}`);
  const [latest] = before?.runs ?? [];
  // A live run may need an approval first.
  const after = latest?.status === "live" ? latest.first_event_id - 1 : (before?.last_event_id ?? 0);
  return { runId, after, commandId };
}
