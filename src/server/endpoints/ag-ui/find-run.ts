/**
 * Finds the run that a request of an AG-UI client stands for. The run ID of a client is the ID of a command: of the
 * message that started the run, or of the first answer that let it go on. Further answers of the request have the same
 * ID with a number.
 */
import { createRecordReader } from "../../../dialects/loom/decode.ts";
import type { CommandState, Log } from "../../../log/index.ts";
import { readPages } from "../../../log/read-pages.ts";
import { type EventOf, LoomError } from "../../../protocol/index.ts";
import { findCommand } from "../../commands/execute-command.ts";
import { findRun, findSession } from "../find-session.ts";

/** What the client answers: an approval, or a call that it carries out. */
export interface Answered {
  readonly kind: "approval" | "result";
  readonly call: string;
}

/** The part of a run that one response sends. */
export interface AgUiRun {
  readonly session: string;
  readonly run: string;
  /** ID of the command. */
  readonly key: string;
  /** What the request answered; empty if it started the run. */
  readonly answered: readonly Answered[];
}

/** Maximum number of answers in a request. */
export const MAX_ANSWERS = 100;

export function nameAnswer(runId: string, index: number): string {
  return index === 0 ? runId : `${runId}#${index}`;
}

/**
 * Returns undefined if the session has no command of this request. Throws `command_conflict` if another kind of command
 * has the ID.
 */
export async function findAgUiRun(log: Log, session: string, runId: string): Promise<AgUiRun | undefined> {
  const command = await findCommand(log, session, runId);
  if (command === undefined) return undefined;
  const run = command.body["run_id"] as string;
  if (command.kind === "enqueue") return { session, run, key: runId, answered: [] };
  if (command.kind !== "approve" && command.kind !== "tool_result")
    throw new LoomError("command_conflict", `The ID "${runId}" was used for another command`);
  const answered: Answered[] = [];
  let answer: CommandState | undefined = command;
  while (answer !== undefined && answered.length < MAX_ANSWERS) {
    const kind = answer.kind === "approve" ? "approval" : "result";
    answered.push({ kind, call: answer.body["call_id"] as string });
    answer = await findCommand(log, session, nameAnswer(runId, answered.length));
  }
  return { session, run, key: runId, answered };
}

/** A record that lets the run wait for an answer. */
interface Wait extends Answered {
  readonly eventId: number;
}

/** Lists what a run waited for, in the order of the records. Throws `unknown_run`. */
export async function listWaits(log: Log, session: string, run: string): Promise<readonly Wait[]> {
  const info = await findSession(log, session);
  const { firstId, lastId = info.lastId } = await findRun(log, session, run);
  const read = createRecordReader();
  const waits: Wait[] = [];
  for await (const { texts } of readPages(log, info, Math.max(firstId, info.firstId) - 1, lastId))
    for (const text of texts) {
      if (!text.includes('"tool_approval"') && !text.includes('"executor"')) continue;
      const { event, envelope } = read(text) ?? {};
      if (event === undefined || envelope?.run_id !== run) continue;
      const eventId = envelope.event_id ?? 0;
      const { call_id: call = "", executor } = event as Partial<EventOf<"tool_start">>;
      if (event.type === "tool_approval") waits.push({ kind: "approval", call, eventId });
      else if (event.type === "tool_start" && executor === "client") waits.push({ kind: "result", call, eventId });
    }
  return waits;
}

/**
 * Returns the record after which the answers continue the run: the last one that made it wait for one of them. Undefined
 * if it never waited for them. Throws `unknown_run`.
 */
export async function findPause(log: Log, { session, run, answered }: AgUiRun): Promise<number | undefined> {
  const waits = await listWaits(log, session, run);
  return waits.findLast(({ kind, call }) => answered.some((each) => each.kind === kind && each.call === call))?.eventId;
}
