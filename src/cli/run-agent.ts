/**
 * `loom run`: an agent answers a message.
 *
 * The message, approvals and cancellation are commands in the log. This process holds the session if it can, and
 * follows the run in any case. A run that was killed, or that another process runs, is therefore handled like any
 * other.
 */
import { randomUUID } from "node:crypto";
import { deriveTitle } from "../agents/derive-title.ts";
import type { Log } from "../log/index.ts";
import { LOG_LIMITS } from "../log/log-limits.ts";
import { CliError, type ParsedCommand, textOption } from "./command.ts";
import { explainErrors } from "./explain-error.ts";
import { readVariable } from "./find-store.ts";
import { cutColumns } from "./fit-text.ts";
import { loadAgents } from "./load-agents.ts";
import { openStore } from "./open-store.ts";
import { assembleAgent } from "./run/assemble-agent.ts";
import { describeOtherAgent, findOtherAgent } from "./run/find-other-agent.ts";
import { nameAgent } from "./run/read-agent-options.ts";
import { MAX_MESSAGE_BYTES, readRunOptions, type RunOptions } from "./run/read-run-options.ts";
import { SessionHolder } from "./run/session-holder.ts";
import { findUnfinishedRun, type WatchTarget, WatchedRun } from "./run/watched-run.ts";
import { LocalService } from "./sessions/local-service.ts";
import { nameSession } from "./sessions/newest-sessions.ts";
import { readServiceAddress } from "./sessions/server-settings.ts";
import type { Terminal } from "./terminal.ts";

/** A message may be larger than other commands, and its JSON encoding is larger still. */
export const MESSAGE_LIMITS = { maxCommandBytes: Math.max(LOG_LIMITS.maxCommandBytes, 2 * MAX_MESSAGE_BYTES) };

export async function runAgent(given: ParsedCommand, terminal: Terminal): Promise<number> {
  const parsed = await nameSession(given, terminal);
  const address = readServiceAddress(parsed);
  if (address.kind === "server") return (await import("./run/run-on-server.ts")).runOnServer(parsed, address, terminal);
  const file = textOption(parsed, "agents") ?? readVariable(process.env, "LOOM_AGENTS");
  const own = file === undefined ? {} : await loadAgents(file);
  const options = await readRunOptions(parsed, terminal, process.env, own);
  return explainErrors(async () => runInStore(options, terminal));
}

async function runInStore(options: RunOptions, terminal: Terminal): Promise<number> {
  const { sessionId } = options;
  const onError = createReporter(terminal);
  const onWarning = (warning: string): void => terminal.warn(cutColumns(warning, 500));
  await using store = await openStore(options.store);
  await using assembled = await assembleAgent(options, onError, { onWarning, store });
  const { agent, warnings } = assembled;
  for (const warning of warnings) onWarning(warning);
  const log = await store.openLog({ limits: MESSAGE_LIMITS });
  const target = await findTarget(log, options);
  if (options.isNewSession) terminal.warn(terminal.styleError("dim", `session ${sessionId}`));
  const agentName = nameAgent(options.agent);
  await using holder = new SessionHolder({
    log,
    sessionId,
    agent,
    agentName,
    cancelCommand: options.describeCommand("cancel"),
    onError,
    onHeld: () =>
      terminal.warn(
        `another process holds session \`${cutColumns(sessionId, 100)}\`; the message runs there if the process has the agent \`${agentName}\`, otherwise here afterwards`,
      ),
    onOtherAgent: (name) =>
      terminal.warn(`a queued message for the agent \`${cutColumns(name, 40)}\` is left to another process`),
  });
  return await new WatchedRun(new LocalService(log), options, target, holder, terminal).watch();
}

/** Prints errors of which the records contain only the ID, if LOOM_DEBUG is set. */
export function createReporter(terminal: Pick<Terminal, "warn">): (error: unknown, errorId: string) => void {
  return (error, errorId) => {
    if (!process.env["LOOM_DEBUG"]) return;
    terminal.warn(`error ${errorId}: ${error instanceof Error ? error.stack : String(error)}`);
  };
}

/** Sends the message, or finds the run to resume. */
async function findTarget(log: Log, options: RunOptions): Promise<WatchTarget> {
  const { sessionId, message, agent } = options;
  const other = await findOtherAgent(log, sessionId, nameAgent(agent));
  if (other !== undefined) throw describeOtherAgent(other, nameAgent(agent), options.describeCommand("cancel"));
  if (message === undefined) {
    const session = await new LocalService(log).getSession(sessionId);
    if (session === undefined) throw new CliError(`no session \`${sessionId}\` in this store`);
    return findUnfinishedRun(session);
  }
  const title = deriveTitle(message);
  const { lastId } = await log.createSession(sessionId, title === undefined ? {} : { title });
  const [latest] = await log.listRuns(sessionId, { limit: 1 });
  // A live run may need an approval first, so it is shown, too.
  const after = latest?.status === "live" ? latest.firstId - 1 : lastId;
  const [runId, commandId] = [randomUUID(), randomUUID()];
  const body = { run_id: runId, message, agent: nameAgent(agent) };
  await log.submit({ commandId, sessionId, kind: "enqueue", body });
  return { runId, after, commandId };
}
