/**
 * Finds the run that a request of an AG-UI client stands for. The run ID of a client is the ID of a command: of the
 * message that started the run, or of the first answer that let it go on. Further answers of the request have the same
 * ID with a number.
 */
import { createRecordReader } from "../../../dialects/loom/decode.ts";
import type { CommandState, Log } from "../../../log/index.ts";
import { readPages } from "../../../log/read-pages.ts";
import type { EventOf } from "../../../protocol/index.ts";
import { findCommand } from "../../commands/execute-command.ts";
import { findRun, findSession } from "../find-session.ts";

/** The part of a run that one response sends. */
export interface AgUiRun {
  readonly session: string;
  readonly run: string;
  /** ID of the command. */
  readonly key: string;
  /** Calls that the request answered; empty if it started the run. */
  readonly answered: readonly string[];
}

/** Maximum number of answers in a request. */
export const MAX_ANSWERS = 100;

export function nameAnswer(runId: string, index: number): string {
  return index === 0 ? runId : `${runId}#${index}`;
}

/** Returns undefined if the session has no command of this request. */
export async function findAgUiRun(log: Log, session: string, runId: string): Promise<AgUiRun | undefined> {
  const command = await findCommand(log, session, runId);
  if (command === undefined) return undefined;
  const run = String(command.body["run_id"]);
  if (command.kind === "enqueue") return { session, run, key: runId, answered: [] };
  const answered: string[] = [];
  let answer: CommandState | undefined = command;
  while (answer !== undefined && answered.length < MAX_ANSWERS) {
    answered.push(String(answer.body["call_id"]));
    answer = await findCommand(log, session, nameAnswer(runId, answered.length));
  }
  return { session, run, key: runId, answered };
}

/**
 * Returns the record after which the answers continue the run: the last one that made it wait for one of the calls.
 * Undefined if it never waited for them. Throws `unknown_run`.
 */
export async function findPause(log: Log, { session, run, answered }: AgUiRun): Promise<number | undefined> {
  const info = await findSession(log, session);
  const { firstId, lastId = info.lastId } = await findRun(log, session, run);
  const calls = new Set(answered);
  const read = createRecordReader();
  let found: number | undefined;
  for await (const { texts } of readPages(log, info, Math.max(firstId, info.firstId) - 1))
    for (const text of texts) {
      if (!text.includes('"tool_approval"')) continue;
      const record = read(text);
      const { event, envelope } = record ?? {};
      if (envelope?.event_id === undefined || envelope.event_id > lastId || event?.type !== "tool_approval") continue;
      if (envelope.run_id === run && calls.has((event as EventOf<"tool_approval">).call_id ?? ""))
        found = envelope.event_id;
    }
  return found;
}
