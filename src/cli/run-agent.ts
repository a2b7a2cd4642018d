/**
 * `loom run`: an agent answers a message. The message is a command in the log, and so are consent and cancel; this process
 * holds the session if it can, and in any case follows the run. So a run that was killed, or is another process's, is no
 * different from one of its own.
 */
import { randomUUID } from "node:crypto";
import type { AgentKindName } from "../agents/index.ts";
import { LOG_LIMITS, type Log } from "../log/index.ts";
import { isLoomError } from "../protocol/index.ts";
import { CliError, type ParsedCommand } from "./command.ts";
import { cutText } from "./fit-text.ts";
import { openStore } from "./open-store.ts";
import { assembleAgent } from "./run/assemble-agent.ts";
import { nameOptions } from "./run/read-agent-choice.ts";
import { MAX_MESSAGE_BYTES, readRunOptions, type RunOptions } from "./run/read-run-options.ts";
import { SessionKeeper } from "./run/session-keeper.ts";
import { type Target, WatchedRun } from "./run/watched-run.ts";
import type { Terminal } from "./terminal.ts";

/** A message may be longer than other commands, and what JSON makes of it longer still. */
const LIMITS = { maxCommandBytes: Math.max(LOG_LIMITS.maxCommandBytes, 2 * MAX_MESSAGE_BYTES) };

export async function runAgent(parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  const options = await readRunOptions(parsed, terminal);
  try {
    return await carryOut(options, terminal);
  } catch (error) {
    if (!isLoomError(error)) throw error;
    throw new CliError(nameOptions(error.message));
  }
}

async function carryOut(options: RunOptions, terminal: Terminal): Promise<number> {
  const { sessionId } = options;
  const onError = createReporter(terminal);
  await using assembled = await assembleAgent(options, onError, (warning) => terminal.warn(cutText(warning, 500)));
  const { agent, warnings } = assembled;
  for (const warning of warnings) terminal.warn(cutText(warning, 500));
  const log = await openStore(options.store, LIMITS);
  try {
    const target = await findTarget(log, options);
    if (options.isNewSession) terminal.warn(terminal.styleError("dim", `session ${sessionId}`));
    const onHeld = (): void =>
      terminal.warn(`another process holds session \`${cutText(sessionId, 100)}\`; the run is carried out there`);
    await using keeper = new SessionKeeper({ log, sessionId, agent, onError, onHeld });
    return await new WatchedRun(log, options, target, keeper, terminal).watch();
  } finally {
    await log.close();
  }
}

/** Faults of Loom or of a tool, of which the run's records have an id only. */
function createReporter(terminal: Terminal): (error: unknown, errorId: string) => void {
  return (error, errorId) => {
    if (!process.env["LOOM_DEBUG"]) return;
    terminal.warn(`error ${errorId}: ${error instanceof Error ? error.stack : String(error)}`);
  };
}

/** Sends the message, or finds the run to go on with. */
async function findTarget(log: Log, { sessionId, message, agent }: RunOptions): Promise<Target> {
  if (message === undefined) return findLeftRun(log, sessionId, agent.kind);
  const { lastId } = await log.createSession(sessionId);
  const [latest] = await log.listRuns(sessionId, { limit: 1 });
  // A run that was left may have to be answered first.
  const after = latest?.status === "live" ? latest.firstId - 1 : lastId;
  const [runId, commandId] = [randomUUID(), randomUUID()];
  const body = { run_id: runId, message, agent: agent.kind };
  await log.submit({ commandId, sessionId, kind: "enqueue", body });
  return { runId, after, commandId };
}

async function findLeftRun(log: Log, sessionId: string, choice: AgentKindName): Promise<Target> {
  const info = await log.getSession(sessionId);
  if (info === undefined) throw new CliError(`there is no session \`${sessionId}\` in this store`);
  const [latest] = await log.listRuns(sessionId, { limit: 1 });
  if (latest?.status === "live") {
    assertSameAgent(latest.agent, choice);
    return { runId: latest.runId, after: latest.firstId - 1 };
  }
  for (const { kind, body, commandId } of await log.listPending(sessionId)) {
    const { run_id: runId, agent } = body;
    if (kind !== "enqueue" || typeof runId !== "string") continue;
    assertSameAgent(typeof agent === "string" ? agent : undefined, choice);
    return { runId, after: info.lastId, commandId };
  }
  const how = latest === undefined ? "it has none" : `the last one ended: ${latest.status}`;
  throw new CliError(`session \`${sessionId}\` has no run to go on with (${how})`);
}

/** An agent of another kind cannot go on with a run, which would be lost. */
function assertSameAgent(agent: string | undefined, kind: AgentKindName): void {
  if (agent === undefined || agent === kind) return;
  const shown = cutText(agent, 40);
  throw new CliError(`the run that was left is one of \`${shown}\`, not of \`${kind}\``, `add \`--agent ${shown}\``);
}
