/**
 * Carries out what a user asks of a session, and says what came of it as a control frame. The same for every door:
 * a command that comes by HTTP and one that comes by a socket have one id and are one command.
 */
import { createHash } from "node:crypto";
import { sendCommand, type SendCommandOptions } from "../../engine/index.ts";
import type { Command, CommandOutcome, Log } from "../../log/index.ts";
import { assertCommand, unknownSession } from "../../log/rules.ts";
import type { AckControl, ControlCommand, RefusalControl } from "../../protocol/control/index.ts";
import { findUpFrameForm } from "../../protocol/control/up.generated.ts";
import { isLoomError, type JsonObject, LoomError } from "../../protocol/index.ts";
import { CommandDesk } from "./command-desk.ts";

export interface CommandHost {
  readonly log: Log;
  /**
   * Starts a run where this process has agents. Without it the message waits in the log for one that has.
   *
   * It is called in the order the messages came, but not waited for before the next, and sees to `when_busy` itself.
   * While this process lives and remembers (the latest 1,000 answers of a log), it is called once for a command id. After
   * that the same id may come again, from a client that missed the answer: give the run the id as its `requestId`, and
   * look whether there is one already.
   */
  readonly startRun?: (command: RunCommand) => Promise<JsonObject | undefined>;
  /** How long to wait for the outcome, and how. */
  readonly commands?: SendCommandOptions;
  /** Told of errors that are not the asker's fault. */
  readonly onError?: (error: unknown) => void;
}

export type RunCommand = Extract<ControlCommand, { readonly type: "run" }>;
export type Answer = AckControl | RefusalControl;

/** One for all doors before a log: what two of them are asked has one order, and one id is one command. */
const desks = new WeakMap<Log, CommandDesk<Answer>>();

function deskOf(log: Log): CommandDesk<Answer> {
  const desk = desks.get(log) ?? new CommandDesk<Answer>();
  desks.set(log, desk);
  return desk;
}

/** Never rejects. Those of one session are written down in the order of the calls; answers come in any order. */
export async function carryOut(host: CommandHost, given: ControlCommand): Promise<Answer> {
  const { log, startRun } = host;
  try {
    const command = pickKnown(given);
    if (command.type === "run")
      return await (startRun === undefined ? enqueue(host, command) : start(host, startRun, command));
    const asked = await deskOf(log).inTurn(command.session, async () => {
      const written = await toCommand(log, command);
      await log.submit(written);
      return written;
    });
    return toAnswer(command, (await sendCommand(log, asked, host.commands)).outcome);
  } catch (error) {
    return refuse(host, error, { id: given.id, session: given.session });
  }
}

/** Unknown fields mean nothing: with and without them it is the same command. */
function pickKnown<C extends ControlCommand>(given: C): C {
  const known = [...(findUpFrameForm(given.type)?.fields.keys() ?? [])];
  const fields = given as unknown as { readonly [field: string]: unknown };
  const picked = known.filter((name) => fields[name] !== undefined).map((name) => [name, fields[name]]);
  return { type: given.type, ...Object.fromEntries(picked) } as C;
}

/** What may cross the wire of an error: that of one which is not ours stays here. */
export function refuse(
  { onError }: Pick<CommandHost, "onError">,
  error: unknown,
  about: { readonly id?: string; readonly session?: string; readonly dialect?: string },
): RefusalControl {
  if (isLoomError(error)) {
    const { code, message, details } = error;
    return { type: "refusal", ...about, code, message, ...(Object.keys(details).length === 0 ? {} : { details }) };
  }
  onError?.(error);
  return { type: "refusal", ...about, code: "internal_error", message: "something went wrong on the server" };
}

function start(
  host: CommandHost,
  startRun: NonNullable<CommandHost["startRun"]>,
  command: RunCommand,
): Promise<Answer> {
  const { id, session } = command;
  const desk = deskOf(host.log);
  return desk.once(command, async () => {
    const { running } = await desk.inTurn(session, async () => {
      await makeSession(host.log, session);
      // Begun in its turn, and not waited for in it: it may last as long as the run.
      return { running: startRun(command) };
    });
    // From here on it may have been started, so what came of it is the answer for good.
    try {
      const result = await running;
      return { type: "ack", id, ...(result === undefined ? {} : { result }) };
    } catch (error) {
      return refuse(host, error, { id, session });
    }
  });
}

async function enqueue(host: CommandHost, command: RunCommand): Promise<Answer> {
  const { log } = host;
  const { id, session, message, agent, run_id } = command;
  const body = { message, ...(agent === undefined ? {} : { agent }), ...(run_id === undefined ? {} : { run_id }) };
  const asked: Command = { commandId: id, sessionId: session, kind: "enqueue", body };
  // Before anything is made or cancelled for it.
  assertCommand(asked, log.limits);
  const cancel = await deskOf(log).inTurn(session, async () => {
    await makeSession(log, session);
    const first = await findWhatIsInTheWay(log, command);
    if (first !== undefined) await log.submit(first);
    await log.submit(asked);
    return first;
  });
  if (cancel !== undefined) await sendCommand(log, cancel, host.commands);
  return toAnswer(command, (await sendCommand(log, asked, { ...host.commands, timeoutMs: 0 })).outcome);
}

/** The first message makes the session. */
async function makeSession(log: Log, sessionId: string): Promise<void> {
  if ((await log.getSession(sessionId)) === undefined) await log.createSession(sessionId);
}

/** What must be cancelled first; throws `run_live` where the message shall rather not be. */
async function findWhatIsInTheWay(log: Log, command: RunCommand): Promise<Command | undefined> {
  const { id, session, when_busy = "enqueue" } = command;
  if (when_busy === "enqueue" || (await log.getCommand(session, id)) !== undefined) return undefined;
  // What waits first, and what runs then: a message whose turn comes in between is seen at least once.
  const waiting = when_busy === "reject" ? await log.listPending(session, log.limits.maxPendingCommands) : [];
  if (waiting.some(({ kind }) => kind === "enqueue")) throw new LoomError("run_live", "a message waits already");
  const live = await findLiveRun(log, session);
  if (live === undefined) return undefined;
  if (when_busy === "reject") throw new LoomError("run_live", `run ${live} is going`);
  // An id of its own, however long the message's is; another one for another run, should this be asked again.
  const digest = createHash("sha256")
    .update(JSON.stringify([id, live]))
    .digest("base64url");
  const body = { run_id: live, reason: "interrupted by a new message" };
  return { commandId: `interrupt:${digest}`, sessionId: session, kind: "cancel", body };
}

async function toCommand(log: Log, command: Exclude<ControlCommand, RunCommand>): Promise<Command> {
  const { id: commandId, session: sessionId, type, ...given } = command;
  if ((await log.getSession(sessionId)) === undefined) throw unknownSession(sessionId);
  const body = given as JsonObject;
  if (type === "cancel") return { commandId, sessionId, kind: "cancel", body };
  if (type === "todo") return { commandId, sessionId, kind: "toggle", body };
  const run_id = command.run_id ?? (await findRunAsked(log, sessionId, commandId));
  if (run_id === undefined) throw new LoomError("unknown_call", `there is no call ${command.call_id} that waits`);
  return { commandId, sessionId, kind: "approve", body: { ...body, run_id } };
}

/** The run that is meant by an answer that names none: the live one; asked again, the same as before. */
async function findRunAsked(log: Log, sessionId: string, commandId: string): Promise<string | undefined> {
  const known = (await log.getCommand(sessionId, commandId))?.body["run_id"];
  return typeof known === "string" ? known : findLiveRun(log, sessionId);
}

async function findLiveRun(log: Log, sessionId: string): Promise<string | undefined> {
  const [latest] = await log.listRuns(sessionId, { limit: 1 });
  return latest?.status === "live" ? latest.runId : undefined;
}

function toAnswer({ id, session }: ControlCommand, outcome: CommandOutcome | undefined): Answer {
  if (outcome === undefined) return { type: "ack", id, pending: true };
  const { code, message = code, eventId, details } = outcome;
  const given = details === undefined ? {} : { details };
  if (code !== "done") return { type: "refusal", id, session, code, message, ...given };
  const result = { ...details, ...(eventId === undefined ? {} : { event_id: eventId }) };
  return { type: "ack", id, ...(Object.keys(result).length === 0 ? {} : { result }) };
}
